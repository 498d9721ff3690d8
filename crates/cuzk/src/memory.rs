//! The host memory that is really there for this process.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use serde::Serialize;

/// Memory that can be had, and what keeps it from being more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Available {
    pub(crate) bytes: u64,
    pub(crate) by: String,
}

impl Available {
    fn new(bytes: u64, by: impl Into<String>) -> Self {
        Available { bytes, by: by.into() }
    }

    /// What `--memory` says, else the least that anything here allows; `None` where the system does not tell.
    pub(crate) fn here(asked: Option<usize>, held: Held) -> Option<Self> {
        match asked {
            Some(bytes) => Some(Available::new((bytes as u64).saturating_sub(held.by_others), "--memory")),
            None => {
                let limits = sources(Path::new("/")).into_iter().chain(address_space());
                let least = limits.min_by_key(|limit| limit.bytes)?;
                Some(Available { bytes: least.bytes + held.by_the_same, ..least })
            }
        }
    }
}

/// Memory that this process has taken before: for the circuit that is planned, whose parameters stay, and for others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) by_the_same: u64,
    pub(crate) by_others: u64,
}

/// Memory that is free or can be freed, and the limits of the control groups that this process is in. `root` is `/`, but in tests.
fn sources(root: &Path) -> Vec<Available> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let free =
        kib_of(&read("proc/meminfo"), "MemAvailable:").map(|bytes| Available::new(bytes, "free memory"));
    let groups = read("proc/self/cgroup");
    let groups = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        match controllers {
            "" => Group::UNIFIED.limits(root, path),
            "memory" => Group::LEGACY.limits(root, path),
            _ => vec![],
        }
    });
    groups.chain(free).collect()
}

/// How a version of control groups calls things.
struct Group {
    mount: &'static str,
    limit: &'static str,
    used: &'static str,
    /// What of it is the cache of files, which is given up first.
    cached: [&'static str; 2],
}

impl Group {
    const UNIFIED: Group = Group {
        mount: "sys/fs/cgroup",
        limit: "memory.max",
        used: "memory.current",
        cached: ["active_file", "inactive_file"],
    };
    const LEGACY: Group = Group {
        mount: "sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        cached: ["total_active_file", "total_inactive_file"],
    };

    /// Of the group with this path, which a container may not show, and of all around it.
    fn limits(&self, root: &Path, path: &str) -> Vec<Available> {
        let mount = root.join(self.mount);
        let own = mount.join(path.trim_start_matches('/'));
        own.ancestors()
            .take_while(|folder| folder.starts_with(&mount))
            .filter_map(|folder| self.limit(folder))
            .collect()
    }

    fn limit(&self, folder: &Path) -> Option<Available> {
        let number = |file| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        // `max` is no number: no limit. The older version has an enormous one instead.
        let limit = number(self.limit)?;
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let cached: u64 = stat
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| self.cached.contains(name))
            .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
            .sum();
        let used = number(self.used)?.saturating_sub(cached);
        let path: PathBuf = folder.join(self.limit);
        Some(Available::new(limit.saturating_sub(used), path.display().to_string()))
    }
}

/// What `ulimit -v` leaves, less what threads reserve and never touch.
fn address_space() -> Option<Available> {
    /// What glibc reserves for an arena; it makes one for a thread, and at most eight for a processor.
    const ARENA_BYTES: u64 = 64 << 20;
    let limit = getrlimit(Resource::As).current?;
    let used = kib_of(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
    let arenas = ARENA_BYTES * rayon::current_num_threads().min(8 * processors) as u64;
    Some(Available::new(limit.saturating_sub(used + arenas), "ulimit -v"))
}

/// What a line like `VmRSS:   1234 kB` says, in bytes.
pub(crate) fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// In units that people count memory in.
pub(crate) fn size(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system with these files.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:       4000 kB\nMemFree:         100 kB\nMemAvailable:   2000 kB\n");

    fn least(files: &[(&str, &str)]) -> (u64, String) {
        let root = root(files);
        let least = sources(root.path()).into_iter().min_by_key(|limit| limit.bytes).unwrap();
        (least.bytes, least.by.replace(&root.path().display().to_string(), ""))
    }

    #[test]
    fn free_memory_counts_where_no_group_has_a_limit() {
        assert_eq!(least(&[MEMINFO]), (2000 << 10, "free memory".to_owned()));
        let unlimited = [MEMINFO, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")];
        assert_eq!(least(&unlimited).1, "free memory");
    }

    #[test]
    fn the_tightest_group_counts_less_what_is_used_for_good() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/pod/container\n"),
            ("sys/fs/cgroup/pod/memory.max", "1000000\n"),
            ("sys/fs/cgroup/pod/memory.current", "600000\n"),
            ("sys/fs/cgroup/pod/memory.stat", "anon 100\nactive_file 200000\ninactive_file 300000\n"),
            ("sys/fs/cgroup/pod/container/memory.max", "1500000\n"),
            ("sys/fs/cgroup/pod/container/memory.current", "1\n"),
        ];
        assert_eq!(least(&files), (900_000, "/sys/fs/cgroup/pod/memory.max".to_owned()));
    }

    #[test]
    fn older_groups_are_known_also_from_within_a_container() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/not-shown-here\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "70000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "30000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_inactive_file 10000\n"),
        ];
        assert_eq!(least(&files), (50_000, "/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned()));
    }

    #[test]
    fn what_is_asked_for_counts_alone() {
        let here = |asked, held| Available::here(Some(asked), held);
        assert_eq!(here(7, Held::default()), Some(Available::new(7, "--memory")));
        assert_eq!(here(7, Held { by_the_same: 5, by_others: 0 }), Some(Available::new(7, "--memory")));
        assert_eq!(here(7, Held { by_the_same: 0, by_others: 5 }), Some(Available::new(2, "--memory")));
        let free = Available::here(None, Held::default()).unwrap();
        let again = Available::here(None, Held { by_the_same: 1 << 40, by_others: 0 }).unwrap();
        assert!(again.bytes > free.bytes + (1 << 39), "{free:?} {again:?}");
    }
}
