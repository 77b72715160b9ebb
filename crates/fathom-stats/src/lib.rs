//! Estimators as pure functions: slices in, estimate and interval out.
