//! A machine whose latency is a function with planted parameters, noise, outliers and drift.
