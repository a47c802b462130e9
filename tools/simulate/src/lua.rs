//! The scripts of Redis, run by Lua 5.1 itself, on the keys of a simulated server.

use crate::keys::{Keys, Value};
use mlua::{Function, Lua, Table, Variadic};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The interpreter, and the scripts that it has compiled, by their hashes.
pub struct Scripts {
    lua: Lua,
    functions: BTreeMap<Vec<u8>, Function>,
}

impl Scripts {
    /// Creates an interpreter whose scripts use these keys.
    pub fn new(keys: Rc<RefCell<Keys>>) -> Self {
        let lua = Lua::new();
        let functions = BTreeMap::new();
        define(&lua, keys).unwrap_or_else(|error| panic!("{error}"));
        Self { lua, functions }
    }

    /// Compiles a script.
    pub fn load(&mut self, hash: &[u8], text: &str) {
        let function = self.lua.load(text).into_function();
        let function = function.unwrap_or_else(|error| panic!("{error}"));
        self.functions.insert(hash.to_vec(), function);
    }

    /// Runs a script, and returns its reply in the protocol of Redis.
    pub fn run(&self, hash: &[u8], keys: &[&[u8]], arguments: &[&[u8]]) -> Vec<u8> {
        let run = || {
            for (name, words) in [("KEYS", keys), ("ARGV", arguments)] {
                let words = words.iter().map(|word| self.lua.create_string(word));
                let words: Vec<_> = words.collect::<mlua::Result<_>>()?;
                self.lua.globals().set(name, words)?;
            }
            let mut reply = Vec::new();
            append(self.functions[hash].call(())?, &mut reply)?;
            Ok(reply)
        };
        run().unwrap_or_else(|error: mlua::Error| panic!("{error}"))
    }
}

/// Defines the functions that scripts call.
fn define(lua: &Lua, keys: Rc<RefCell<Keys>>) -> mlua::Result<()> {
    let call = lua.create_function(move |lua, words: Variadic<mlua::String>| {
        let words: Vec<_> = words.iter().map(mlua::String::as_bytes).collect();
        let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        let value = keys.borrow_mut().command(&words);
        Ok(match value {
            Value::Nil => mlua::Value::Boolean(false),
            Value::Done => mlua::Value::Boolean(true),
            Value::Number(number) => mlua::Value::Number(number as f64),
            Value::Text(text) => mlua::Value::String(lua.create_string(text)?),
            Value::List(words) => mlua::Value::Table(lua.create_sequence_from(words)?),
            Value::Time(seconds, micros) => {
                mlua::Value::Table(lua.create_sequence_from([seconds, micros])?)
            }
        })
    })?;
    let error_reply = lua.create_function(|lua, text: mlua::String| {
        let error = lua.create_table()?;
        error.set("err", text)?;
        Ok(error)
    })?;
    let redis = lua.create_table()?;
    redis.set("call", &call)?;
    redis.set("pcall", call)?;
    redis.set("error_reply", error_reply)?;
    lua.globals().set("redis", redis)
}

/// Appends a value to a reply. Scripts of the product reply numbers, errors and lists.
fn append(value: mlua::Value, reply: &mut Vec<u8>) -> mlua::Result<()> {
    match value {
        mlua::Value::Integer(number) => reply.extend(format!(":{number}\r\n").bytes()),
        mlua::Value::Number(number) => reply.extend(format!(":{}\r\n", number as i64).bytes()),
        mlua::Value::Boolean(false) => reply.extend(b"$-1\r\n"),
        mlua::Value::String(text) => {
            reply.extend(format!("${}\r\n", text.as_bytes().len()).bytes());
            reply.extend_from_slice(&text.as_bytes());
            reply.extend(b"\r\n");
        }
        mlua::Value::Table(table) => return append_table(&table, reply),
        other => panic!("a reply of a script: {other:?}"),
    }
    Ok(())
}

fn append_table(table: &Table, reply: &mut Vec<u8>) -> mlua::Result<()> {
    if let Some(error) = table.get::<Option<String>>("err")? {
        reply.extend(format!("-{error}\r\n").bytes());
        return Ok(());
    }
    let values: Vec<mlua::Value> = table.sequence_values().collect::<mlua::Result<_>>()?;
    reply.extend(format!("*{}\r\n", values.len()).bytes());
    values
        .into_iter()
        .try_for_each(|value| append(value, reply))
}
