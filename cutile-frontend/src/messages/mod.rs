//! The catalogue of messages: what was given, what is expected, what to write instead. No spans and no decisions here.

mod body;
mod calls;
mod items;
mod operands;
mod shapes;
mod text;

pub(crate) use self::body::*;
pub(crate) use self::calls::*;
pub(crate) use self::items::*;
pub(crate) use self::operands::*;
pub(crate) use self::shapes::*;
pub(crate) use self::text::*;
