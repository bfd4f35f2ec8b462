package db

import "context"

// unwatched is a context without a Done channel, for a short statement that finds rows by unique keys while there is a
// free connection. To watch the channel, database/sql and the drivers would start two goroutines for each statement
// (ADR 200). Deadlines still hold: a connection to PostgreSQL has its own, and a read of SQLite waits for no writer. If
// others take all free connections at that moment, the statement waits for one of them.
type unwatched struct{ context.Context }

// Done implements context.Context.
func (unwatched) Done() <-chan struct{} { return nil }
