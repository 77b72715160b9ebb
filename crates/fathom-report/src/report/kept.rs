//! What a run folder keeps that is no survey, as text and as a page.

use super::Colours;
use super::{calibration, curve, jobs, prediction, replay, syscalls, validation, versus, xor};
use super::{
    jobs_page, model_page, prediction_page, speed_page, trace_page, validation_page, versus_page, xor_page,
};
use crate::run_folder::Kept;

/// A result as its command prints it.
pub fn kept(kept: &Kept, colours: Colours) -> String {
    match kept {
        Kept::Curve(result) => curve(result, colours),
        Kept::Syscalls(prices) => syscalls(prices),
        Kept::Versus(result) => versus(result, colours),
        Kept::Run(ran) => jobs(ran),
        Kept::Xor(result) => xor(result),
        Kept::Validation(result, _) => validation(result, colours),
        Kept::Prediction(predicted, _) => prediction(predicted),
        Kept::Calibration(model, accounts) => calibration(model, accounts),
        Kept::Trace(trace) => fathom_trace::show::text::render(&trace.shown),
        Kept::Replay(replayed) => replay(replayed),
    }
}

/// A result as one HTML file that needs no network.
pub fn kept_page(kept: &Kept) -> String {
    match kept {
        Kept::Curve(curve) => speed_page::curve_page(curve),
        Kept::Syscalls(prices) => speed_page::syscalls_page(prices),
        Kept::Versus(versus) => versus_page::versus_page(versus),
        Kept::Run(ran) => jobs_page::jobs_page(ran),
        Kept::Xor(xor) => xor_page::xor_page(xor),
        Kept::Validation(validation, model) => validation_page::validation_page(validation, model),
        Kept::Prediction(predicted, model) => prediction_page::prediction_page(predicted, model),
        Kept::Calibration(model, accounts) => model_page::calibration_page(model, accounts),
        Kept::Trace(trace) => trace_page::trace_page(&trace.shown, &trace.name),
        Kept::Replay(replayed) => jobs_page::replay_page(replayed),
    }
}
