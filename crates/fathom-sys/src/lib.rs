//! System calls, the clock, cache control and facts about mounts: the only crate with `unsafe`.
