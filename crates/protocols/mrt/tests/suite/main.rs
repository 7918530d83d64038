//! Files that are written against other readers, and files that are damaged.

mod agreeing;

mod damage;

mod support;
