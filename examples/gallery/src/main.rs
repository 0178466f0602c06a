//! Runs a program of the gallery and writes its picture, or lists the programs.

use example_gallery::{Outcome, PROGRAMS, Program, find, run};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
Runs a program of the gallery on the device, compares it with the CPU, and writes a PNG.

usage: example-gallery [NAME] [--size N] [--out FILE]

  NAME         the program; without it, the programs are listed
  --size N     how much to compute, in the program's unit
  --out FILE   where to write the picture (NAME.png)
";

struct Arguments {
    name: Option<String>,
    size: Option<usize>,
    out: Option<PathBuf>,
    help: bool,
}

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Outcome {
    let arguments = Arguments::parse(lexopt::Parser::from_env())
        .map_err(|error| format!("{error}\nhelp: `--help` lists the arguments"))?;
    if arguments.help {
        print!(
            "{USAGE}\nprograms:\n{}\nsizes, with the defaults:\n{}",
            list(),
            sizes()
        );
        return Ok(());
    }
    let Some(name) = arguments.name else {
        if arguments.size.is_some() || arguments.out.is_some() {
            return Err("`--size` and `--out` need the name of a program".into());
        }
        print!("{}", list());
        return Ok(());
    };
    let program = find(&name)?;
    let out = arguments
        .out
        .unwrap_or_else(|| format!("{name}.png").into());
    let device = cust::init_auto()?;
    println!("running on {device}");
    let start = Instant::now();
    let report = run(program, arguments.size, device.backend())?;
    for note in &report.notes {
        println!("{note}");
    }
    // After the computation, so that a failure leaves the file of an earlier run.
    let cannot = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", out.display());
    let file = File::create(&out).map_err(|error| cannot(&error))?;
    let mut file = BufWriter::new(file);
    report.picture.encode(&mut file)?;
    file.flush().map_err(|error| cannot(&error))?;
    println!("{} after {:.1?}", out.display(), start.elapsed());
    Ok(())
}

impl Arguments {
    fn parse(mut parser: lexopt::Parser) -> Result<Arguments, lexopt::Error> {
        use lexopt::prelude::*;
        let mut arguments = Arguments {
            name: None,
            size: None,
            out: None,
            help: false,
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Short('h') | Long("help") => arguments.help = true,
                Long("size") => arguments.size = Some(parser.value()?.parse()?),
                Long("out") => arguments.out = Some(parser.value()?.into()),
                Value(name) if arguments.name.is_none() => arguments.name = Some(name.string()?),
                other => return Err(other.unexpected()),
            }
        }
        Ok(arguments)
    }
}

fn list() -> String {
    PROGRAMS
        .iter()
        .map(|program| format!("{:<12} {}\n", program.name, program.about))
        .collect()
}

fn sizes() -> String {
    let line = |program: &Program| {
        let sizes = &program.sizes;
        format!(
            "{:<12} {} to {} {}; {} on the emulator, {} on a GPU\n",
            program.name, sizes.least, sizes.most, sizes.unit, sizes.emulator, sizes.gpu
        )
    };
    PROGRAMS.iter().map(line).collect()
}
