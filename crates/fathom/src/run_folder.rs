//! The run folder: the survey and the raw samples behind it, enough to infer again without a machine.
