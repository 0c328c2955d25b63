//! The program `msrm`.

fn main() -> std::process::ExitCode {
    msrm::cli::main()
}
