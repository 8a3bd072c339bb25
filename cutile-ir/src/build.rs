//! Building functions operation by operation. Nothing is checked here beyond what the structure
//! needs; the verifier checks the result.

use crate::dim::ConstParam;
use crate::element::TypeParam;
use crate::infer::result_type;
use crate::module::*;
use crate::op::{ControlOp, OpKind};
use crate::types::Type;
use smallvec::SmallVec;

/// Builds one function. Operations go to the innermost open block.
#[derive(Debug)]
pub struct FunctionBuilder {
    function: Function,
    blocks: Vec<Block>,
    loc: Option<Loc>,
}

impl FunctionBuilder {
    /// An empty function.
    pub fn new(name: impl Into<String>, kind: FunctionKind) -> Self {
        FunctionBuilder {
            function: Function {
                name: name.into(),
                kind,
                fast_math: false,
                type_params: Vec::new(),
                const_params: Vec::new(),
                params: Vec::new(),
                values: Vec::new(),
                body: Block::default(),
            },
            blocks: vec![Block::default()],
            loc: None,
        }
    }

    /// Allows contraction and approximation.
    pub fn set_fast_math(&mut self, on: bool) {
        self.function.fast_math = on;
    }

    /// Declares an element type parameter.
    pub fn type_param(&mut self, name: impl Into<String>) -> TypeParam {
        self.function.type_params.push(name.into());
        TypeParam(self.function.type_params.len() as u32 - 1)
    }

    /// Declares a const parameter.
    pub fn const_param(&mut self, name: impl Into<String>, kind: ConstKind) -> ConstParam {
        self.function.const_params.push(ConstParamDecl { name: name.into(), kind });
        ConstParam(self.function.const_params.len() as u32 - 1)
    }

    /// Declares a parameter.
    pub fn param(&mut self, name: impl Into<String>, ty: Type, role: ParamRole) -> Value {
        let name = name.into();
        let value = self.function.new_value(ty, Some(name.clone()));
        self.function.params.push(Param { name, value, role });
        value
    }

    /// The place of the operations that follow.
    pub fn set_loc(&mut self, loc: Option<Loc>) {
        self.loc = loc;
    }

    /// The place that operations get now.
    pub fn loc(&self) -> Option<Loc> {
        self.loc
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The type of a value.
    pub fn ty(&self, v: Value) -> &Type {
        self.function.ty(v)
    }

    /// Gives a value a name for dumps, unless it has one.
    pub fn name(&mut self, v: Value, name: &str) {
        self.function.values[v.0 as usize].name.get_or_insert_with(|| name.to_string());
    }

    /// Appends an operation with results of these types.
    pub fn emit(
        &mut self,
        kind: impl Into<OpKind>,
        results: impl IntoIterator<Item = Type>,
    ) -> SmallVec<[Value; 1]> {
        let results: SmallVec<[Value; 1]> =
            results.into_iter().map(|ty| self.function.new_value(ty, None)).collect();
        let op = Op { kind: kind.into(), results: results.clone(), loc: self.loc };
        self.blocks.last_mut().expect("the body is open").ops.push(op);
        results
    }

    /// Appends an operation with one result of this type.
    pub fn value(&mut self, kind: impl Into<OpKind>, ty: Type) -> Value {
        self.emit(kind, [ty])[0]
    }

    /// Appends an operation whose operands determine its one result's type; `None`, and nothing is
    /// appended, where they don't suit it.
    pub fn infer(&mut self, kind: impl Into<OpKind>) -> Option<Value> {
        let kind = kind.into();
        let ty = result_type(&kind, &self.function)?;
        Some(self.value(kind, ty))
    }

    /// Appends an operation without results.
    pub fn effect(&mut self, kind: impl Into<OpKind>) {
        self.emit(kind, []);
    }

    /// Opens a nested block and gives its parameters.
    pub fn open(&mut self, params: impl IntoIterator<Item = Type>) -> Vec<Value> {
        let params: Vec<Value> =
            params.into_iter().map(|ty| self.function.new_value(ty, None)).collect();
        self.blocks.push(Block { params: params.clone(), ..Block::default() });
        params
    }

    /// Closes the innermost nested block.
    ///
    /// # Panics
    /// When none is open.
    pub fn close(&mut self, yields: impl IntoIterator<Item = Value>) -> Block {
        assert!(self.blocks.len() > 1, "`close` without `open`");
        let mut block = self.blocks.pop().expect("one is open");
        block.yields = yields.into_iter().collect();
        block
    }

    /// Appends a control operation; its results have the types of what its block yields.
    pub fn control(&mut self, op: ControlOp) -> SmallVec<[Value; 1]> {
        let types: Vec<Type> = match &op {
            ControlOp::For { init, .. } | ControlOp::While { init, .. } => {
                init.iter().map(|v| self.ty(*v).clone()).collect()
            }
            ControlOp::If { on_true, .. } => {
                on_true.yields.iter().map(|v| self.ty(*v).clone()).collect()
            }
            ControlOp::Call { .. } => Vec::new(),
        };
        self.emit(op, types)
    }

    /// The finished function, whose results are these values.
    ///
    /// # Panics
    /// When a nested block is still open.
    pub fn finish(mut self, results: impl IntoIterator<Item = Value>) -> Function {
        assert_eq!(self.blocks.len(), 1, "a nested block is still open");
        let mut body = self.blocks.pop().expect("the body is open");
        body.params = self.function.params.iter().map(|p| p.value).collect();
        body.yields = results.into_iter().collect();
        self.function.body = body;
        self.function
    }
}
