//! Ctrl-C raises a flag; inference stops at the next transition and keeps what is finished.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The flag that Ctrl-C raises. The first call installs the handler, which says so unless `quiet`; a second Ctrl-C ends
/// the process at once.
pub fn interrupt_flag(quiet: bool) -> &'static AtomicBool {
    static INSTALLED: std::sync::Once = std::sync::Once::new();
    INSTALLED.call_once(|| {
        // Without a handler Ctrl-C ends the process, which is the only alternative left.
        let _ = ctrlc::set_handler(move || {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            if !quiet {
                eprintln!("\ninterrupted: keeping the finished draws (Ctrl-C again to stop at once)");
            }
        });
    });
    &INTERRUPTED
}
