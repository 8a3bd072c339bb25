//! Modules and programs: PTX text ready to run, and placed in a device's memory.

use std::sync::Arc;

use crate::check::dependency;
use crate::decode::{self, Code};
use crate::exec::{self, Launch, Options, Stats};
use crate::memory::{Memory, MemoryError, address};
use crate::parse::ast::{Initial, InitialValue};
use crate::parse::{self, ParseError};
use crate::report::{FaultKind, Report, Source};

/// What a launch must know of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Offset and bytes of each parameter in the parameter buffer.
    pub params: Vec<(u32, u32)>,
    /// Bytes of the parameter buffer.
    pub param_bytes: u32,
    /// Block shape that the entry requires (`.reqntid`).
    pub required_block: Option<[u32; 3]>,
    /// Cluster shape that the entry requires (`.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// Bytes of static shared memory: variables that the entry names, and the functions that it may call.
    pub shared_bytes: u32,
}

/// A global access that some path reaches before `griddepcontrol.wait`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwaited {
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// The line's text.
    pub instruction: String,
    /// The source line, where the PTX has `.loc` directives.
    pub source: Option<Source>,
}

#[derive(Debug)]
struct Inner {
    code: Code,
    text: String,
}

/// PTX text, parsed and decoded. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Inner>,
}

impl Module {
    /// Parses and decodes a module of PTX 8.x text.
    ///
    /// # Errors
    ///
    /// [`ParseError`] with the line of what is not PTX, or is an instruction that this emulator does not run: unknown
    /// instructions are found here, none is skipped.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let tree = parse::parse(text)?;
        let code = decode::decode(&tree)?;
        Ok(Self { inner: Arc::new(Inner { code, text: text.to_owned() }) })
    }

    /// The entry of this name.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let index = *self.inner.code.names.get(name)?;
        let function = &self.inner.code.functions[index as usize];
        function.entry.then(|| Entry {
            name: name.to_owned(),
            params: function.params.clone(),
            param_bytes: function.param_bytes,
            required_block: function.required_block,
            cluster: function.cluster,
            shared_bytes: self.inner.code.layouts[index as usize].fixed,
        })
    }

    /// The global accesses that a thread of the entry may reach before it has executed `griddepcontrol.wait`, on some path
    /// from the entry, taken or not; none of the name `entry` gives nothing. Accesses by generic addresses are left out:
    /// they may go to other memory, and a launch with [`Launch::dependent`] checks where they go. Such a launch also fails
    /// if this list is not empty.
    pub fn unwaited_accesses(&self, entry: &str) -> Option<Vec<Unwaited>> {
        let code = &self.inner.code;
        let index = *code.names.get(entry)?;
        code.functions[index as usize].entry.then(|| {
            let places = dependency::unwaited(code, index);
            places.into_iter().map(|(function, pc)| self.unwaited(function, pc)).collect()
        })
    }

    fn unwaited(&self, function: u32, pc: u32) -> Unwaited {
        let function = &self.inner.code.functions[function as usize];
        let inst = &function.code[pc as usize];
        let text = self.inner.text.lines().nth(inst.line as usize - 1).unwrap_or_default();
        Unwaited {
            ptx_line: inst.line,
            instruction: text.trim().to_owned(),
            source: self.inner.code.source(function, inst.location),
        }
    }

    /// Names of all entries, in the text's order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.inner.code.functions.iter().filter(|f| f.entry).map(|f| f.name.as_str())
    }

    /// Places the module's global and constant variables in `memory`.
    ///
    /// # Errors
    ///
    /// [`MemoryError`] if memory is short, or an initial value names an unknown symbol.
    pub fn load(&self, memory: &Arc<Memory>) -> Result<Program, MemoryError> {
        let code = &self.inner.code;
        let mut program =
            Program { module: self.clone(), memory: memory.clone(), variables: Vec::new() };
        for variable in &code.variables {
            let at = memory.alloc_kind(variable.bytes, variable.align, variable.constant)?;
            program.variables.push(at);
        }
        for (variable, &at) in code.variables.iter().zip(&program.variables) {
            // Module variables without an initial value are zero.
            memory.fill(at, 0, variable.bytes)?;
            for initial in &variable.init {
                let value = program.initial_value(&variable.name, initial)?;
                memory
                    .write(at + initial.offset, &value.to_le_bytes()[..initial.bytes as usize])?;
            }
        }
        Ok(program)
    }
}

/// A module whose variables have addresses: ready to launch. They are freed when it is dropped.
#[derive(Debug)]
pub struct Program {
    module: Module,
    memory: Arc<Memory>,
    variables: Vec<u64>,
}

impl Program {
    fn initial_value(&self, variable: &str, initial: &Initial) -> Result<u64, MemoryError> {
        let code = &self.module.inner.code;
        match &initial.value {
            InitialValue::Bits(bits) => Ok(*bits),
            InitialValue::Address { symbol, offset, generic } => {
                let shared =
                    decode::shared::pinned(&code.shared, &code.layouts, symbol).map(|at| {
                        if *generic {
                            address::to_generic(decode::op::Space::Shared, at)
                        } else {
                            at
                        }
                    });
                let at = self
                    .variable(symbol)
                    .map(|(at, _)| at)
                    .or(shared)
                    .or_else(|| code.names.get(symbol).map(|&index| address::function(index)))
                    .ok_or_else(|| MemoryError::UnknownSymbol {
                        variable: variable.to_owned(),
                        symbol: symbol.clone(),
                    })?;
                Ok(at.wrapping_add(*offset as u64))
            }
        }
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Address and bytes of a `.global` or `.const` variable.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let variables = &self.module.inner.code.variables;
        let index = variables.iter().position(|v| v.name == name)?;
        Some((self.variables[index], variables[index].bytes))
    }

    /// Runs a grid of `entry` to its end on the calling thread and workers of its own.
    ///
    /// `params` is the parameter buffer: each parameter at its natural alignment, as [`Entry::params`] says.
    ///
    /// # Errors
    ///
    /// A [`Report`] of the first fault found, or of what makes the launch invalid; after a dependent launch without fault,
    /// of the first of [`Module::unwaited_accesses`].
    pub fn launch(
        &self,
        entry: &str,
        launch: &Launch,
        params: &[u8],
        options: &Options,
    ) -> Result<Stats, Box<Report>> {
        let code = &self.module.inner.code;
        let Some(&index) = code.names.get(entry) else {
            return Err(Box::new(Report {
                kind: FaultKind::InvalidLaunch(format!("the module has no entry `{entry}`")),
                kernel: entry.to_owned(),
                thread: None,
                ptx_line: None,
                instruction: None,
                source: None,
            }));
        };
        let job = exec::Job {
            code,
            entry: index,
            memory: &self.memory,
            variables: &self.variables,
            params,
        };
        let stats = exec::launch(&job, &self.module.inner.text, launch, options)?;
        if !launch.dependent {
            return Ok(stats);
        }
        match self.module.unwaited_accesses(entry).unwrap_or_default().into_iter().next() {
            None => Ok(stats),
            Some(access) => Err(Box::new(Report {
                kind: FaultKind::Async(
                    "a path from the entry, not taken in this launch, reaches this global access before \
                     griddepcontrol.wait: in a dependent launch the grid before may still run"
                        .to_owned(),
                ),
                kernel: entry.to_owned(),
                thread: None,
                ptx_line: Some(access.ptx_line),
                instruction: Some(access.instruction),
                source: access.source,
            })),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        for &at in &self.variables {
            // Only a host that freed the variable itself could make this fail; nothing is left to do then.
            let _ = self.memory.free(at);
        }
    }
}
