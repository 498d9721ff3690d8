//! Optimizations that can be chosen: each is an axis with named values, the default first.
//!
//! Any two values of any axis give the same proof for the same input, parameters, r and s.

use std::fmt;

use cuzk_r1cs::linear_combination_storage;

/// When the value of an axis is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// When the program is built.
    AtBuild,
    /// By `--tune`.
    AtRun,
}

/// One value of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its name in `--tune` and in reports.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    /// What was measured, with machine and date.
    pub measured: &'static str,
}

/// An optimization axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its name in `--tune` and in reports.
    pub name: &'static str,
    /// When its value is chosen.
    pub decided: Decided,
    /// The backends to which it makes a difference.
    pub backends: &'static [&'static str],
    /// Its values; the first is the default.
    pub values: &'static [Value],
}

/// How many transforms yield the quotient h ([`crate::quotient`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ntt {
    /// c stays on the domain.
    #[default]
    Six,
    /// c goes to the coset as a and b do.
    Seven,
}

/// How a partition's witness and its a and b are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synthesis {
    /// Write the witness without a walk; evaluate a and b from the circuit's template.
    #[default]
    Direct,
    /// Walk the gadgets for the witness alone, blocks in parallel; evaluate a and b from the template.
    Template,
    /// Walk the gadgets and evaluate every linear combination on the way, on one thread.
    Enforce,
}

/// Whether the vectors of an enforcing walk are allocated at their final size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presize {
    /// From the known counts of the circuit.
    #[default]
    On,
    /// They grow.
    Off,
}

/// Which instructions CPU arithmetic uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isa {
    /// The fastest that the processor has.
    #[default]
    Auto,
    /// Eight elements at a time with AVX-512 IFMA; an error where the processor lacks it.
    Avx512Ifma,
    /// One element at a time, on any processor.
    Portable,
}

/// How the sizes of the windows of the multi-scalar sums are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowChoice {
    /// Each sum has those with the least cost for its number of terms.
    #[default]
    PerMsm,
    /// All sums have those that suit the H query.
    Shared,
}

/// When the CPU backend computes the sum over the B query in G2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BG2Cpu {
    /// Beside the sums in G1.
    #[default]
    Parallel,
    /// After them.
    Sequential,
}

/// Where the sum over the B query in G2 is computed when the others are on a CUDA device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BG2Cuda {
    /// On the device, too.
    #[default]
    Device,
    /// On the processor, beside the others.
    Host,
}

/// How a CUDA device adds points up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulation {
    /// By groups of eight in affine coordinates with shared divisions, then these sums as the other does.
    #[default]
    Affine,
    /// One after the other, in XYZZ coordinates.
    Xyzz,
}

/// How host memory is copied to a CUDA device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Through pinned buffers that take turns.
    #[default]
    Staged,
    /// From where it is, pageable.
    None,
    /// From where it is, pinned for the time of the copy.
    Register,
}

/// How many partitions of a statement are worked on at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// One on each device, or on the processor.
    #[default]
    One,
    /// While the backend sums for one, the next one's witness is computed, and the one before is verified.
    Two,
}

/// One value for each axis. [`Tuning::default`] has the first of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Axis `ntt`.
    pub ntt: Ntt,
    /// Axis `isa`.
    pub isa: Isa,
    /// Axis `windows`.
    pub windows: WindowChoice,
    /// Axis `b-g2-cpu`.
    pub b_g2_cpu: BG2Cpu,
    /// Axis `b-g2-cuda`.
    pub b_g2_cuda: BG2Cuda,
    /// Axis `accumulation`.
    pub accumulation: Accumulation,
    /// Axis `pin`.
    pub pin: Pin,
    /// Axis `synthesis`.
    pub synthesis: Synthesis,
    /// Axis `presize`.
    pub presize: Presize,
    /// Axis `in-flight`.
    pub in_flight: InFlight,
}

/// An axis or a value that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TuningError {
    /// No such axis.
    #[error("no axis `{axis}`; there are: {known} (`cuzk variants` describes them)")]
    UnknownAxis {
        /// What was asked for.
        axis: String,
        /// The names of the axes.
        known: String,
    },
    /// No such value.
    #[error("axis `{axis}` has no value `{value}`; it has: {known} (`cuzk variants` describes them)")]
    UnknownValue {
        /// The axis.
        axis: &'static str,
        /// What was asked for.
        value: String,
        /// The names of its values.
        known: String,
    },
    /// A value that another build has.
    #[error(
        "axis `{axis}` is decided at build time, and this program was built with `{built}`, not `{value}`"
    )]
    BuiltOtherwise {
        /// The axis.
        axis: &'static str,
        /// What was asked for.
        value: String,
        /// What this program has.
        built: &'static str,
    },
    /// Not of the form axis=value.
    #[error("`{setting}` is not of the form axis=value")]
    NotASetting {
        /// What was given.
        setting: String,
    },
}

const NTT: Axis = Axis {
    name: "ntt",
    decided: Decided::AtRun,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "six",
            what: "h = (coset interpolation of ab − interpolation of c) / (gⁿ − 1): c never goes to the coset",
            measured: "transforms 6.6 s against 7.7 s for seven (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
        Value {
            name: "seven",
            what: "the usual form: a, b and c all go to the coset and back",
            measured: "transforms 7.7 s against 6.6 s for six (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
    ],
};

const ISA: Axis = Axis {
    name: "isa",
    decided: Decided::AtRun,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "auto",
            what: "avx512ifma where the processor has it, else portable",
            measured: "as the value that it takes",
        },
        Value {
            name: "avx512ifma",
            what: "fields, curves, transforms and the Poseidon of written witnesses eight elements at a time in limbs of 52 bits; with --backend cuda the last alone",
            measured: "PoRep 2 KiB, parameters loaded: 3.4 and 4.1 s, portable 6.7 and 6.9 s, bellperson 16.0 s (16-core Xeon with IFMA, 2026-11-29)",
        },
        Value {
            name: "portable",
            what: "one element at a time, over blst's assembly",
            measured: "PoRep 2 KiB, parameters loaded: 25 to 33 s, bellperson 58 s (2-core Zen 3 guest, shared, loaded, 2026-11-29); 6.7 and 6.9 s, bellperson 16.0 s (16-core Xeon)",
        },
    ],
};

const WINDOWS: Axis = Axis {
    name: "windows",
    decided: Decided::AtRun,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "per-msm",
            what: "each multi-scalar sum has the windows of least cost for it",
            measured: "sums over L, A and B, without the scalars 0 and 1, 1.2 s against 3.1 s for shared (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows); on an H200 all four 10.5 ms against 44 ms (2026-11-30)",
        },
        Value {
            name: "shared",
            what: "all have the windows that suit the H query",
            measured: "the same sums 3.1 s against 1.2 s (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
    ],
};

const B_G2_CPU: Axis = Axis {
    name: "b-g2-cpu",
    decided: Decided::AtRun,
    backends: &["cpu"],
    values: &[
        Value {
            name: "parallel",
            what: "the CPU's sum in G2 runs beside those in G1",
            measured: "sums over L, A and B 1.2 s parallel, 0.9 s sequential, one run each: no difference shown (2-core Zen 3 guest, shared, loaded, 2026-11-29, PoRep 2 KiB)",
        },
        Value {
            name: "sequential",
            what: "it runs after them",
            measured: "sums over L, A and B 1.2 s parallel, 0.9 s sequential, one run each: no difference shown (2-core Zen 3 guest, shared, loaded, 2026-11-29, PoRep 2 KiB)",
        },
    ],
};

const B_G2_CUDA: Axis = Axis {
    name: "b-g2-cuda",
    decided: Decided::AtRun,
    backends: &["cuda"],
    values: &[
        Value {
            name: "device",
            what: "with --backend cuda, the sum in G2 runs on the device after those in G1",
            measured: "PoRep 2 KiB, from packed witness to five points: 44 ms on the device, 147 ms with the host's 16 cores for this sum (one H200, 2026-11-30)",
        },
        Value {
            name: "host",
            what: "with --backend cuda, it runs on the processor, beside the work of the device",
            measured: "PoRep 2 KiB, from packed witness to five points: 44 ms on the device, 147 ms with the host's 16 cores for this sum (one H200, 2026-11-30)",
        },
    ],
};

const ACCUMULATION: Axis = Axis {
    name: "accumulation",
    decided: Decided::AtRun,
    backends: &["cuda"],
    values: &[
        Value {
            name: "affine",
            what: "a CUDA device adds groups of eight points of a bucket in affine coordinates, with divisions shared among many groups, then their sums in XYZZ coordinates",
            measured: "PoRep 2 KiB, from packed witness to five points: 44.0 to 44.4 ms, xyzz 48.2 to 48.7 ms; sum of 2^24 uniform terms 91.7 ms, xyzz 102.1 ms; 3.6 to 5.8 GiB of the device's memory, xyzz 3.1 GiB (one H200, 2026-11-30)",
        },
        Value {
            name: "xyzz",
            what: "it adds them one after the other in XYZZ coordinates, which takes less memory",
            measured: "PoRep 2 KiB, from packed witness to five points: 48.2 to 48.7 ms, affine 44.0 to 44.4 ms; sum of 2^24 uniform terms 102.1 ms, affine 91.7 ms; 3.1 GiB of the device's memory, affine 3.6 to 5.8 GiB (one H200, 2026-11-30)",
        },
    ],
};

const PIN: Axis = Axis {
    name: "pin",
    decided: Decided::AtRun,
    backends: &["cuda"],
    values: &[
        Value {
            name: "staged",
            what: "witnesses and streamed parameters go to a CUDA device through two pinned buffers of 16 MiB that take turns",
            measured: "PoRep 2 KiB: packed witness (2 MB) 0.5 ms; with synthesis=enforce (258 MB) 9.5 ms; all with parameters streamed into 2 GiB 74 ms with accumulation=xyzz, 123 ms with affine (one H200 with 16 cores, 2026-11-30)",
        },
        Value {
            name: "none",
            what: "they go from pageable memory",
            measured: "PoRep 2 KiB: packed witness (2 MB) 0.3 ms; with synthesis=enforce (258 MB) 45 and 49 ms; all with parameters streamed into 2 GiB 203 ms with accumulation=xyzz, 231 ms with affine (one H200 with 16 cores, 2026-11-30)",
        },
        Value {
            name: "register",
            what: "they are pinned where they are for the time of the copy",
            measured: "PoRep 2 KiB: packed witness (2 MB) 1 to 2.5 ms; with synthesis=enforce (258 MB) 29 and 34 ms; all with parameters streamed into 2 GiB 109 ms with accumulation=xyzz, 155 ms with affine (one H200, 2026-11-30); published elsewhere: pinning 125 GiB takes 5.7 s",
        },
    ],
};

const SYNTHESIS: Axis = Axis {
    name: "synthesis",
    decided: Decided::AtRun,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "direct",
            what: "the witness is written in the order in which the gadgets allocate, without calling them",
            measured: "medians, after the first of a process, for which neptune computes its constants (50 ms): PoRep of 2 KiB 2.0 ms on two threads, template 385 ms; a partition of a PoRep of 32 GiB 43 ms on two and 57 ms on one, with isa=portable 116 ms; all ten 465 ms; winning PoSt of 32 GiB 5.7 ms, portable 24 ms; window PoSt of 2349 sectors 1.2 s, portable 9.5 s with the first touch of 4 GB (two of the cores of a Xeon with IFMA, 2026-11-30)",
        },
        Value {
            name: "template",
            what: "the gadgets are walked for the witness alone, blocks in parallel; a and b come from the template",
            measured: "1.04 s on one thread, 0.52 s on two, enforce 1.57 s (medians of nine interleaved runs, PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29)",
        },
        Value {
            name: "enforce",
            what: "one walk on one thread computes the witness and evaluates every linear combination",
            measured: "1.57 s, template 1.04 s on one thread and 0.52 s on two (medians of nine interleaved runs, PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29)",
        },
    ],
};

const PRESIZE: Axis = Axis {
    name: "presize",
    decided: Decided::AtRun,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "on",
            what: "with synthesis=enforce, vectors are allocated at the circuit's known sizes",
            measured: "no difference from off shown: off takes 0.996 of its processor time (0.979 to 1.014), peak memory 257 and 258 MiB (PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29)",
        },
        Value {
            name: "off",
            what: "with synthesis=enforce, vectors grow by doubling",
            measured: "no difference from on shown: 0.996 of its processor time (0.979 to 1.014), peak memory 258 and 257 MiB (PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29)",
        },
    ],
};

const IN_FLIGHT: Axis = Axis {
    name: "in-flight",
    decided: Decided::AtRun,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "one",
            what: "each device, or the processor, has one partition at a time",
            measured: "window PoSt of 2 KiB, two partitions, 1.47 s, two 1.49 s; three partitions of an NI-PoRep 64.8 and 69.6 s, two 65.0 and 65.3 s: no difference shown on a processor (2-core Zen 3 guest, 2026-12-01)",
        },
        Value {
            name: "two",
            what: "while the sums of a partition are computed, the witness of the next is, and the one before is verified; where memory is there for two",
            measured: "as one, with written witnesses and on a processor; 3 MB more memory (2-core Zen 3 guest, 2026-12-01)",
        },
    ],
};

const LC: Axis = Axis {
    name: "lc",
    decided: Decided::AtBuild,
    backends: &["cpu", "cuda"],
    values: &[
        Value {
            name: "vec",
            what: "a linear combination's terms are in a Vec, as upstream has it",
            measured: "what the others are compared with",
        },
        Value {
            name: "smallvec-1",
            what: "in a SmallVec that holds one term without an allocation",
            measured: "enforcing walk 0.953 of vec's processor time (0.937 to 0.971; PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29); 1.048 on a 2-core Zen 4 guest",
        },
        Value {
            name: "smallvec-2",
            what: "in a SmallVec that holds two",
            measured: "enforcing walk 0.951 of vec's processor time (0.944 to 0.964; PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29); no difference shown on a 2-core Zen 4 guest",
        },
        Value {
            name: "smallvec-4",
            what: "in a SmallVec that holds four",
            measured: "enforcing walk 0.993 of vec's processor time, no difference shown (0.986 to 1.007; PoRep 2 KiB, 2-core Zen 3 guest, 2026-11-29); 1.101 on a 2-core Zen 4 guest",
        },
    ],
};

impl Tuning {
    /// All axes.
    pub const AXES: &'static [Axis] =
        &[NTT, ISA, WINDOWS, B_G2_CPU, B_G2_CUDA, ACCUMULATION, PIN, SYNTHESIS, PRESIZE, IN_FLIGHT, LC];

    /// The value of axis `lc` in this build.
    pub const fn lc() -> &'static str {
        linear_combination_storage()
    }

    /// Sets one axis from its names.
    pub fn set(&mut self, axis: &str, value: &str) -> Result<(), TuningError> {
        let Some(known) = Self::AXES.iter().find(|known| known.name == axis) else {
            return Err(TuningError::UnknownAxis {
                axis: axis.to_owned(),
                known: join(Self::AXES.iter().map(|axis| axis.name)),
            });
        };
        match (axis, value) {
            ("ntt", "six") => self.ntt = Ntt::Six,
            ("ntt", "seven") => self.ntt = Ntt::Seven,
            ("isa", "auto") => self.isa = Isa::Auto,
            ("isa", "avx512ifma") => self.isa = Isa::Avx512Ifma,
            ("isa", "portable") => self.isa = Isa::Portable,
            ("windows", "per-msm") => self.windows = WindowChoice::PerMsm,
            ("windows", "shared") => self.windows = WindowChoice::Shared,
            ("b-g2-cpu", "parallel") => self.b_g2_cpu = BG2Cpu::Parallel,
            ("b-g2-cpu", "sequential") => self.b_g2_cpu = BG2Cpu::Sequential,
            ("b-g2-cuda", "device") => self.b_g2_cuda = BG2Cuda::Device,
            ("b-g2-cuda", "host") => self.b_g2_cuda = BG2Cuda::Host,
            ("accumulation", "xyzz") => self.accumulation = Accumulation::Xyzz,
            ("accumulation", "affine") => self.accumulation = Accumulation::Affine,
            ("pin", "none") => self.pin = Pin::None,
            ("pin", "register") => self.pin = Pin::Register,
            ("pin", "staged") => self.pin = Pin::Staged,
            ("synthesis", "direct") => self.synthesis = Synthesis::Direct,
            ("synthesis", "template") => self.synthesis = Synthesis::Template,
            ("synthesis", "enforce") => self.synthesis = Synthesis::Enforce,
            ("presize", "on") => self.presize = Presize::On,
            ("presize", "off") => self.presize = Presize::Off,
            ("in-flight", "one") => self.in_flight = InFlight::One,
            ("in-flight", "two") => self.in_flight = InFlight::Two,
            ("lc", value) if value == Self::lc() => {}
            ("lc", value) if known.values.iter().any(|known| known.name == value) => {
                let (value, built) = (value.to_owned(), Self::lc());
                return Err(TuningError::BuiltOtherwise { axis: known.name, value, built });
            }
            _ => {
                return Err(TuningError::UnknownValue {
                    axis: known.name,
                    value: value.to_owned(),
                    known: join(known.values.iter().map(|value| value.name)),
                });
            }
        }
        Ok(())
    }

    /// Sets axes from `axis=value` settings separated by commas.
    pub fn set_all(&mut self, settings: &str) -> Result<(), TuningError> {
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let (axis, value) = setting
                .split_once('=')
                .ok_or_else(|| TuningError::NotASetting { setting: setting.to_owned() })?;
            self.set(axis.trim(), value.trim())?;
        }
        Ok(())
    }

    /// Axis and value names, in the order of [`Tuning::AXES`].
    pub fn settings(&self) -> Vec<(&'static str, &'static str)> {
        let ntt = match self.ntt {
            Ntt::Six => "six",
            Ntt::Seven => "seven",
        };
        let isa = match self.isa {
            Isa::Auto => "auto",
            Isa::Avx512Ifma => "avx512ifma",
            Isa::Portable => "portable",
        };
        let windows = match self.windows {
            WindowChoice::PerMsm => "per-msm",
            WindowChoice::Shared => "shared",
        };
        let b_g2_cpu = match self.b_g2_cpu {
            BG2Cpu::Parallel => "parallel",
            BG2Cpu::Sequential => "sequential",
        };
        let b_g2_cuda = match self.b_g2_cuda {
            BG2Cuda::Device => "device",
            BG2Cuda::Host => "host",
        };
        let accumulation = match self.accumulation {
            Accumulation::Xyzz => "xyzz",
            Accumulation::Affine => "affine",
        };
        let pin = match self.pin {
            Pin::None => "none",
            Pin::Register => "register",
            Pin::Staged => "staged",
        };
        let synthesis = match self.synthesis {
            Synthesis::Direct => "direct",
            Synthesis::Template => "template",
            Synthesis::Enforce => "enforce",
        };
        let presize = match self.presize {
            Presize::On => "on",
            Presize::Off => "off",
        };
        let in_flight = match self.in_flight {
            InFlight::One => "one",
            InFlight::Two => "two",
        };
        vec![
            (NTT.name, ntt),
            (ISA.name, isa),
            (WINDOWS.name, windows),
            (B_G2_CPU.name, b_g2_cpu),
            (B_G2_CUDA.name, b_g2_cuda),
            (ACCUMULATION.name, accumulation),
            (PIN.name, pin),
            (SYNTHESIS.name, synthesis),
            (PRESIZE.name, presize),
            (IN_FLIGHT.name, in_flight),
            (LC.name, Self::lc()),
        ]
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<String> =
            self.settings().iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        formatter.write_str(&settings.join(","))
    }
}

fn join(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_axis_can_be_set_and_the_first_is_the_default() {
        for axis in Tuning::AXES.iter().filter(|axis| axis.decided == Decided::AtRun) {
            assert!(Tuning::default().settings().contains(&(axis.name, axis.values[0].name)));
            for value in axis.values {
                let mut tuning = Tuning::default();
                tuning.set_all(&format!("{}={}", axis.name, value.name)).unwrap();
                assert!(tuning.settings().contains(&(axis.name, value.name)));
                let mut again = Tuning::default();
                again.set_all(&tuning.to_string()).unwrap();
                assert_eq!(again, tuning);
            }
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let message = |settings: &str| Tuning::default().set_all(settings).unwrap_err().to_string();
        assert_eq!(
            message("nt=six"),
            "no axis `nt`; there are: ntt, isa, windows, b-g2-cpu, b-g2-cuda, accumulation, pin, synthesis, presize, in-flight, lc (`cuzk variants` describes them)"
        );
        assert_eq!(
            message("ntt=eight"),
            "axis `ntt` has no value `eight`; it has: six, seven (`cuzk variants` describes them)"
        );
        assert_eq!(message("ntt"), "`ntt` is not of the form axis=value");
        assert_eq!(Tuning::default().set_all(""), Ok(()));
        let other = if Tuning::lc() == "vec" { "smallvec-1" } else { "vec" };
        assert_eq!(
            message(&format!("lc={other}")),
            format!(
                "axis `lc` is decided at build time, and this program was built with `{}`, not `{other}`",
                Tuning::lc()
            )
        );
        assert!(LC.values.iter().any(|value| value.name == Tuning::lc()));
    }
}
