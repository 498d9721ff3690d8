//! What computes proofs: the backend that was asked for or is there, and its CUDA devices.

use std::cmp::Reverse;
use std::str::FromStr;

use anyhow::anyhow;
use cuzk_gpu::DeviceReport;
use cuzk_groth16::Error;

use crate::arguments::BackendChoice;
use crate::failure::Failure;
use crate::report::{BackendReport, UsedDevice};

/// CUDA devices by number, from 0: `0`, `0,1`, `all`. One that is named twice proves two partitions at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceChoice {
    All,
    These(Vec<usize>),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.trim().parse();
            number.map_err(|_| format!("`{text}` is no number; `0`, `0,1` and `all` are devices"))
        };
        match text {
            "all" => Ok(DeviceChoice::All),
            list => list.split(',').map(number).collect::<Result<_, _>>().map(DeviceChoice::These),
        }
    }
}

/// Devices that can be used.
#[derive(Debug, PartialEq, Eq)]
struct Chosen {
    /// In the order in which they were asked for.
    devices: Vec<UsedDevice>,
    /// Their names, and why others are skipped.
    found: String,
}

/// The backend that was asked for, or the fastest that there is; a GPU that was asked for and can't be used is an error.
pub(crate) fn choose_backend(
    choice: BackendChoice,
    devices: Option<&DeviceChoice>,
) -> Result<BackendReport, Failure> {
    const ASKED: &str = "asked for with --backend";
    let on_processor = |name, why: String| Ok(BackendReport { name, why, devices: vec![] });
    let on_gpu = |reason: &str| {
        let Chosen { devices, found } = choose_devices(devices, &cuzk_gpu::devices()?, cuzk_gpu::check)?;
        Ok::<_, Error>(BackendReport { name: "cuda", why: format!("{reason}: {found}"), devices })
    };
    match (choice, devices) {
        (BackendChoice::Auto, Some(_)) => Ok(on_gpu("asked for with --device")?),
        (BackendChoice::Auto, None) => {
            on_gpu("auto").or_else(|reason| on_processor("cpu", format!("auto: {reason}")))
        }
        (BackendChoice::Cuda, _) => Ok(on_gpu(ASKED)?),
        (BackendChoice::Cpu | BackendChoice::Reference, Some(_)) => Err(Failure::refused(
            "usage",
            anyhow!("--device is for a GPU: say --backend cuda, or leave it away"),
        )),
        (BackendChoice::Cpu, None) => on_processor("cpu", ASKED.to_owned()),
        (BackendChoice::Reference, None) => on_processor("reference", ASKED.to_owned()),
    }
}

/// Devices of those that are there; `check` opens one and says how many bytes are free, or why it can't be used. Without a choice it is the
/// first of which no more than half is taken, and all of these where all are wanted; else the one with the most free memory. A device that
/// has code and does not take it is an error of its own, where it was asked for or there is no other.
fn choose_devices(
    choice: Option<&DeviceChoice>,
    there: &[DeviceReport],
    check: impl Fn(usize) -> Result<usize, Error>,
) -> Result<Chosen, Error> {
    let usable = |device: &DeviceReport| match &device.skipped {
        Some(reason) => Err(missing(reason.clone())),
        None => check(device.index).map(|free_bytes| UsedDevice { number: device.index, free_bytes }),
    };
    match choice {
        Some(DeviceChoice::These(numbers)) => {
            let device = |number: &usize| {
                let nowhere =
                    || missing(format!("no device {number}; there are {}, numbered from 0", there.len()));
                let device = there.iter().find(|device| device.index == *number).ok_or_else(nowhere)?;
                usable(device).map_err(|error| match error {
                    Error::DeviceMissing { reason } => missing(format!("{}: {reason}", device.label())),
                    other => other,
                })
            };
            let used = numbers.iter().map(device).collect::<Result<Vec<_>, _>>()?;
            Ok(chosen(&used, there, &[]))
        }
        choice => {
            let (mut free, mut taken, mut skipped, mut broken) = (vec![], vec![], vec![], None);
            for device in there {
                match usable(device) {
                    Ok(used) if 2 * used.free_bytes >= device.memory_bytes => free.push(used),
                    Ok(used) => taken.push((device, used)),
                    Err(error) => {
                        skipped.push(format!("{} is skipped: {}", device.label(), reason_of(&error)));
                        broken = broken.or(device.skipped.is_none().then_some(error));
                    }
                }
                if choice.is_none() && !free.is_empty() {
                    break;
                }
            }
            // Of as much the first.
            taken.sort_by_key(|(device, used)| (Reverse(used.free_bytes), device.index));
            if free.is_empty() && !taken.is_empty() {
                free.push(taken.remove(0).1);
            }
            let taken = taken.iter().map(|(device, _)| {
                format!("{} is skipped: more than half of its memory is taken", device.label())
            });
            skipped.extend(taken);
            match free.is_empty() {
                true => Err(broken.unwrap_or_else(|| missing(skipped.join("; ")))),
                false => Ok(chosen(&free, there, &skipped)),
            }
        }
    }
}

fn missing(reason: String) -> Error {
    Error::DeviceMissing { reason }
}

/// Without the prefix that the whole message has.
fn reason_of(error: &Error) -> String {
    match error {
        Error::DeviceMissing { reason } => reason.clone(),
        other => other.to_string(),
    }
}

fn chosen(used: &[UsedDevice], there: &[DeviceReport], skipped: &[String]) -> Chosen {
    let named = there.iter().filter(|device| used.iter().any(|used| used.number == device.index));
    let named = named.map(|device| format!("device {}, {}", device.index, device.name));
    let found: Vec<String> = named.chain(skipped.iter().cloned()).collect();
    Chosen { devices: used.to_vec(), found: found.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: usize = 1 << 30;

    fn there() -> Vec<DeviceReport> {
        let device = |index, skipped: Option<&str>| DeviceReport {
            index,
            name: "Card".to_owned(),
            compute_capability: (9, 0),
            memory_bytes: 80 * GIB,
            skipped: skipped.map(str::to_owned),
        };
        let unreadable = DeviceReport { memory_bytes: 0, ..device(4, Some("unreadable")) };
        vec![device(0, Some("too old")), device(1, None), device(2, None), device(3, None), unreadable]
    }

    fn numbers_of(chosen: &Chosen) -> Vec<usize> {
        chosen.devices.iter().map(|device| device.number).collect()
    }

    fn choose(choice: Option<&str>, free: [Result<usize, &str>; 4]) -> Result<Chosen, String> {
        let choice: Option<DeviceChoice> = choice.map(|text| text.parse().unwrap());
        let check = |index: usize| free[index].map_err(|reason| missing(reason.to_owned()));
        choose_devices(choice.as_ref(), &there(), check).map_err(|error| error.to_string())
    }

    #[test]
    fn devices_are_lists_or_all() {
        let these = |numbers: &[usize]| Ok(DeviceChoice::These(numbers.to_vec()));
        assert_eq!("0".parse(), these(&[0]));
        assert_eq!("1, 0,1".parse(), these(&[1, 0, 1]));
        assert_eq!("all".parse(), Ok(DeviceChoice::All));
        for wrong in ["", "a", "0-1", "0,", "-1", "All"] {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_a_choice_it_is_the_first_that_nobody_uses_or_else_the_emptiest() {
        let numbers = |free| numbers_of(&choose(None, free).unwrap());
        let never: Result<usize, &str> = Err("not looked at");
        assert_eq!(numbers([never, Ok(79 * GIB), Ok(80 * GIB), Ok(80 * GIB)]), [1]);
        assert_eq!(numbers([never, Ok(2 * GIB), Ok(60 * GIB), Ok(80 * GIB)]), [2]);
        assert_eq!(numbers([never, Ok(2 * GIB), Ok(7 * GIB), Ok(7 * GIB)]), [2]);
        assert_eq!(numbers([never, Err("broken"), Ok(7 * GIB), Ok(8 * GIB)]), [3]);
        assert_eq!(numbers([never, Ok(7 * GIB), Err("broken"), Ok(80 * GIB)]), [3]);
        let found = choose(None, [never, Err("broken"), Ok(60 * GIB), never]).unwrap();
        assert_eq!(found.devices, [UsedDevice { number: 2, free_bytes: 60 * GIB }]);
        assert_eq!(
            found.found,
            "device 2, Card; device 0 (Card) is skipped: too old; device 1 (Card) is skipped: broken"
        );
        let none = choose(None, [never, Err("broken"), Err("wet"), Err("wet")]).unwrap_err();
        assert!(none.contains("broken"), "{none}");
    }

    #[test]
    fn all_are_those_that_can_be_used_and_a_list_is_that_list() {
        let all = |free| choose(Some("all"), free).unwrap();
        assert_eq!(numbers_of(&all([Ok(0), Ok(70 * GIB), Ok(60 * GIB), Ok(80 * GIB)])), [1, 2, 3]);
        let two = all([Ok(0), Ok(70 * GIB), Ok(6 * GIB), Ok(80 * GIB)]);
        assert_eq!(numbers_of(&two), [1, 3]);
        assert!(two.found.contains("device 2 (Card) is skipped: more than half of its memory is taken"));
        let free = [Ok(0), Ok(5 * GIB), Err("broken"), Ok(4 * GIB)];
        assert_eq!(numbers_of(&all(free)), [1], "better than none");
        assert_eq!(numbers_of(&choose(Some("3,1,3"), free).unwrap()), [3, 1, 3]);
        let refused = |list| choose(Some(list), free).unwrap_err();
        assert!(refused("1,2").contains("broken"));
        assert!(refused("0").contains("too old"));
        assert!(refused("5").contains("no device 5; there are 5, numbered from 0"));
    }
}
