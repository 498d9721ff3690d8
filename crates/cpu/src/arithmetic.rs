//! Which arithmetic is used: axis `isa`.

use cuzk_field::Engine;
use cuzk_groth16::{Error, Isa};

/// The arithmetic that an axis value comes to on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic(Option<Engine>);

impl Arithmetic {
    /// What `isa` asks for; `auto` takes AVX-512 IFMA where the processor has it. Asking for it elsewhere is an error.
    pub fn of(isa: Isa) -> Result<Self, Error> {
        match isa {
            Isa::Auto => Ok(Arithmetic(Engine::avx512ifma())),
            Isa::Portable => Ok(Self::portable()),
            Isa::Avx512Ifma => match Engine::avx512ifma() {
                Some(engine) => Ok(Arithmetic(Some(engine))),
                // Faults of eight-wide code are to be seen on every machine.
                None if cuzk_fault::ON => Ok(Arithmetic(Some(Engine::emulated()))),
                None => Err(Error::InstructionsMissing { isa: "avx512ifma" }),
            },
        }
    }

    /// One element at a time, over blst.
    pub fn portable() -> Self {
        Arithmetic(None)
    }

    /// Eight at a time by an engine: for tests and benchmarks.
    pub fn eight(engine: Engine) -> Self {
        Arithmetic(Some(engine))
    }

    /// The name of the axis value that asks for it.
    pub fn name(self) -> &'static str {
        match self.0 {
            None => "portable",
            Some(engine) => engine.name(),
        }
    }

    /// What runs eight-wide code, if anything does.
    pub fn engine(self) -> Option<Engine> {
        self.0
    }
}

impl Default for Arithmetic {
    /// The best of this machine.
    fn default() -> Self {
        Arithmetic(Engine::avx512ifma())
    }
}
