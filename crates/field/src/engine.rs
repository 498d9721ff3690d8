//! What runs eight-wide kernels on this machine.

use crate::emulated::Emulated;
use crate::lanes::Kernel;

/// A way to run [`Kernel`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Exists only where the features were found.
    Avx512Ifma,
    Emulated,
}

impl Engine {
    /// AVX-512 with IFMA, if this processor has it: Intel from Ice Lake servers on, AMD from Zen 4 on.
    pub fn avx512ifma() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return crate::avx512ifma::detected().then_some(Engine(Kind::Avx512Ifma));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// The same arithmetic on plain words, some hundred times slower: for tests.
    pub fn emulated() -> Self {
        Engine(Kind::Emulated)
    }

    /// `avx512ifma` or `emulated`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Avx512Ifma => "avx512ifma",
            Kind::Emulated => "emulated",
        }
    }

    /// Runs a kernel.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an engine of this kind is made only by `avx512ifma`, which has found the features.
            Kind::Avx512Ifma => unsafe { crate::avx512ifma::enter(kernel) },
            #[cfg(not(target_arch = "x86_64"))]
            Kind::Avx512Ifma => unreachable!("never made on this architecture"),
            Kind::Emulated => kernel.run::<Emulated>(),
        }
    }
}
