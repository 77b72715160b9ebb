//! Where a job's threads run, how urgently, and where their memory comes from.

use fathom_program::job::{Job, Placement, list};
use fathom_sys::file::Errno;
use fathom_sys::placement::{self, MemoryPolicy};

use crate::fault::Fault;

/// Puts the calling thread where its job wants it; `number` counts the threads that run at the same time.
pub(super) fn take(job: &Job, number: usize) -> Result<(), Fault> {
    let Placement { nice, priority, numa, .. } = &job.placement;
    let said =
        |option: &str, reason: String| Fault::Unsupported(format!("[{}]: {option}= {reason}", job.name));
    let failed = |option, errno: Errno| said(option, fathom_sys::plain(&errno.into()));
    let cpus = cpus(&job.placement, number);
    if !cpus.is_empty() {
        placement::run_on(&cpus).map_err(|errno| failed("cpus_allowed", errno))?;
    }
    if let Some(nodes) = &numa[0] {
        let mut cpus = Vec::new();
        for node in list(nodes).map_err(|reason| said("numa_cpu_nodes", reason))? {
            let listed = placement::cpus_of_node(node).map_err(|errno| failed("numa_cpu_nodes", errno))?;
            cpus.extend(list(&listed).map_err(|reason| said("numa_cpu_nodes", reason))?);
        }
        placement::run_on(&cpus).map_err(|errno| failed("numa_cpu_nodes", errno))?;
    }
    if let Some(text) = &numa[1] {
        let policy = memory_policy(text).map_err(|reason| said("numa_mem_policy", reason))?;
        placement::take_memory(&policy).map_err(|errno| failed("numa_mem_policy", errno))?;
    }
    if let Some((priority, class)) = *priority {
        // Without a class fio takes the best effort.
        let class = if class == 0 { 2 } else { class };
        placement::prioritise(class, priority).map_err(|errno| failed("prio", errno))?;
    }
    if *nice != 0 {
        placement::add_niceness(i32::from(*nice)).map_err(|errno| failed("nice", errno))?;
    }
    Ok(())
}

/// The CPUs of a thread: all of its job's, or one of them where they are split.
fn cpus(placement: &Placement, number: usize) -> Vec<u32> {
    let cpus = &placement.cpus;
    match placement.split && !cpus.is_empty() {
        true => vec![cpus[number % cpus.len()]],
        false => cpus.clone(),
    }
}

fn memory_policy(text: &str) -> Result<MemoryPolicy, String> {
    let (policy, nodes) = text.split_once(':').unwrap_or((text, ""));
    Ok(match policy {
        "local" => MemoryPolicy::Local,
        "prefer" => MemoryPolicy::Prefer(list(nodes)?.first().copied().unwrap_or(0)),
        "bind" => MemoryPolicy::Bind(list(nodes)?),
        "interleave" => MemoryPolicy::Interleave(list(nodes)?),
        _ => MemoryPolicy::Default,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_cpus_go_round() {
        let placement = Placement { cpus: vec![1, 4, 5], split: true, ..Placement::default() };
        let taken: Vec<Vec<u32>> = (0..4).map(|number| cpus(&placement, number)).collect();
        assert_eq!(taken, [[1], [4], [5], [1]]);
        assert_eq!(cpus(&Placement { split: false, ..placement }, 2), [1, 4, 5]);
    }

    #[test]
    fn policies_are_read_and_a_missing_cpu_is_named() {
        assert_eq!(memory_policy("bind:0-1,3"), Ok(MemoryPolicy::Bind(vec![0, 1, 3])));
        assert_eq!(memory_policy("prefer:2"), Ok(MemoryPolicy::Prefer(2)));
        assert!(memory_policy("interleave:x").is_err());
        let mut job = Job::named("far");
        job.placement.cpus = vec![4000];
        let shown = std::thread::spawn(move || take(&job, 0)).join().unwrap().unwrap_err().to_string();
        assert!(shown.starts_with("[far]: cpus_allowed= "), "{shown}");
    }
}
