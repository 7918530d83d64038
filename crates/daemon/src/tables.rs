//! Tables of the function and of the controllers, by their names: how full they are, and pages of
//! their entries. What a controller is asked it answers itself; the keeper only finds it.

use std::collections::BTreeMap;

use controller_kit::table::FOR;
use controller_kit::{Table, Unanswered};
use function_kit::Sought;
use serde_json::{Map, Value, json};

use crate::controller::ControllerThread;
use crate::controller::questions::{Answer, Question};
use crate::keeper::Daemon;
use crate::nothing::is_nothing;
use crate::protocol::Ask;
use crate::unit::Refused;

/// A page that is asked for.
struct Wanted {
    name: String,
    worker: Option<usize>,
    from: u64,
    limit: usize,
    filters: BTreeMap<String, String>,
}

/// Whose a table is.
enum Owner<'a> {
    /// The function's, by its number.
    Function(usize),
    Controller(&'a ControllerThread, &'static Table),
}

impl Daemon {
    /// Answers a request, or has a controller answer it.
    pub(crate) fn answer_by(&mut self, ask: Ask, answer: &Answer) {
        let answered = match ask {
            Ask::Table { name, worker, from, limit, of, mut filters } => {
                filters.extend(of.map(|of| (FOR.to_owned(), of)));
                let limit = limit.clamp(1, PAGE_MAX);
                self.page(Wanted { name, worker, from, limit, filters }, answer)
            }
            Ask::Metrics(name) => {
                let found = self.controllers.iter().find(|one| one.controller.name() == name);
                let names = self.controllers.iter().map(|one| one.controller.name());
                let names: Vec<&str> = names.collect();
                let none = || Refused::from(Unanswered::unknown("controller", &name, &names));
                let asked = found.ok_or_else(none).and_then(|one| self.awake(one));
                asked.map(|one| one.ask(Question::Metrics, answer.clone())).map(|()| None)
            }
            ask => match self.command_of(&ask) {
                Ok(Some((one, command))) => {
                    self.awake(one).map(|one| one.ask(command, answer.clone())).map(|()| None)
                }
                Ok(None) => self.answer(ask).map(Some),
                Err(refused) => Err(refused),
            },
        };
        // A client that is gone needs no answer.
        match answered {
            Ok(None) => {}
            Ok(Some(value)) => drop(answer.try_send(Ok(value))),
            Err(refused) => drop(answer.try_send(Err(refused))),
        }
    }

    /// A controller that answers: not one that does not return.
    fn awake<'a>(&self, one: &'a ControllerThread) -> Result<&'a ControllerThread, Refused> {
        let silent = one.silent(self.started);
        match silent > crate::controlled::SILENT_MAX {
            false => Ok(one),
            true => {
                let name = one.controller.name();
                let what = format!("`{name}` has not come back for {} s", silent.as_secs());
                Err(Refused::new(what, "see the alarms (`plumbline show alarms`)"))
            }
        }
    }

    /// Returns a page of a table of the function; nothing where a controller answers.
    fn page(&mut self, wanted: Wanted, answer: &Answer) -> Result<Option<Value>, Refused> {
        let number = match self.owner(&wanted.name)? {
            Owner::Function(number) => number,
            Owner::Controller(one, table) => {
                if wanted.worker.is_some_and(|worker| worker > 0) {
                    let what = format!("the table `{}` is no worker's", table.name);
                    return Err(Refused::new(what, "leave out the worker"));
                }
                table.check(&wanted.filters)?;
                let Wanted { from, limit, filters, .. } = wanted;
                let question = Question::Table { table: table.name, from, limit, filters };
                self.awake(one)?.ask(question, answer.clone());
                return Ok(None);
            }
        };
        let Wanted { name, worker, from, limit, mut filters } = wanted;
        let of = filters.remove(FOR).map(|text| text.parse::<Sought>());
        let of = of.transpose().map_err(|what| Refused::new(what, ""))?;
        let own = Table { name: self.running.words().tables[number], summary: "", filters: &[] };
        own.check(&filters)?;
        let page = self.running.page((worker, number), from, limit, of)?;
        let page = page.ok_or_else(|| {
            let what = format!("entries of the table `{name}` are not found by an address");
            Refused::new(what, "leave out what they are found by")
        })?;
        let workers = self.needs.queues;
        Ok(Some(json!({"entries": page.entries, "next": page.next, "workers": workers})))
    }

    /// Finds a table: by its name where one alone has it, else behind that of its owner and a
    /// slash.
    fn owner(&self, name: &str) -> Result<Owner<'_>, Refused> {
        let (of, bare) = name.rsplit_once('/').map_or((None, name), |(of, bare)| (Some(of), bare));
        let function = self.configuration.function.configured.name();
        let own = self.running.words().tables.iter().enumerate();
        let own = own.map(|(number, table)| (function, *table, Owner::Function(number)));
        let others = self.controllers.iter().flat_map(|one| {
            let all = one.controller.tables().iter();
            all.map(move |table| (one.controller.name(), table.name, Owner::Controller(one, table)))
        });
        let all: Vec<_> = own.chain(others).collect();
        let names: Vec<String> = all.iter().map(|(of, table, _)| format!("{of}/{table}")).collect();
        let is_it = |owner: &str, table: &str| table == bare && of.is_none_or(|of| of == owner);
        let bares: Vec<&str> = all.iter().map(|one| one.1).collect();
        let known = match of {
            Some(_) => names.iter().map(String::as_str).collect(),
            None => bares,
        };
        let unknown = || Refused::from(Unanswered::unknown("table", name, &known));
        let mut found = all.into_iter().zip(&names).filter(|((of, table, _), _)| is_it(of, table));
        let ((.., owner), first) = found.next().ok_or_else(unknown)?;
        if let Some((_, second)) = found.next() {
            let what = format!("there are several tables `{name}`");
            return Err(Refused::new(what, format!("say which: `{first}` or `{second}`")));
        }
        Ok(owner)
    }

    /// Returns how full all tables are.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub(crate) fn tables(&mut self) -> Result<Value, Refused> {
        let names = self.running.words().tables;
        let sizes = self.running.sizes()?;
        let of = |(index, name): (usize, &&str)| {
            let used = |one: &crate::unit::Sizes| one.tables.get(index).map_or(0, |size| size.used);
            let capacity =
                |one: &crate::unit::Sizes| one.tables.get(index).map_or(0, |size| size.capacity);
            let table = json!({
                "used": sizes.iter().map(used).sum::<u64>(),
                "capacity": sizes.iter().map(capacity).sum::<u64>(),
                "used_by_worker": sizes.iter().map(used).collect::<Vec<_>>(),
            });
            ((*name).to_owned(), table)
        };
        let tables: Map<String, Value> = names.iter().enumerate().map(of).collect();
        let bytes: usize = sizes.iter().map(|one| one.state_bytes).sum();
        let mut shown = json!({"tables": tables, "state_bytes": bytes, "workers": sizes.len()});
        if let Some(standby) = crate::unit::standby(&sizes) {
            shown["standby"] = standby;
        }
        let of_controllers: Vec<Value> =
            self.controllers.iter().flat_map(ControllerThread::tables).collect();
        if !of_controllers.is_empty() {
            shown["controllers"] = of_controllers.into();
        }
        if is_nothing(self.configuration.function.configured.name()) {
            shown.as_object_mut().into_iter().for_each(|all| drop(all.shift_remove("tables")));
        }
        Ok(shown)
    }
}

/// Largest number of entries of a page: what a worker reads between two batches, or a controller in
/// one turn.
const PAGE_MAX: usize = 1000;
