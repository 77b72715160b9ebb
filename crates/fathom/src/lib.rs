//! Fathom: measure, explain and predict a file system.
