// Package ports holds the interfaces through which the application uses the outside world: one small
// file per area, shaped by what the use cases need. The suites in test/support/contract define what an adapter
// must do.
package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/fault"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// ErrUnavailable reports that a system that Atrium depends on cannot be reached at the moment. An error
// that wraps it has details that are only for the log.
var ErrUnavailable = &fault.Error{Kind: fault.Unavailable, Code: "unavailable",
	Detail: "Atrium cannot serve this request at the moment. Try again soon."}

// Atomic is for the few use cases that span aggregates.
type Atomic interface {
	// Atomically runs fn on stores that share one transaction: all changes of fn are saved, or none. fn
	// may run again after a conflict, so it does no I/O except through the stores.
	Atomically(ctx context.Context, fn func(Stores) error) error

	// Try runs fn in the transaction that these stores belong to, or in one of its own. If fn fails, what it changed is
	// undone, and the transaction can go on, unless the error is an outage.
	Try(ctx context.Context, fn func(Stores) error) error

	// AfterCommit runs effect once, when the transaction that these stores belong to has been committed and before the
	// call that opened it returns. It never runs effect if the transaction, or this attempt of it, is rolled back.
	// Outside a transaction it runs effect at once. It is for what cannot be undone and must hold no locks, such as
	// sending mail. effect must not use these stores.
	AfterCommit(effect func())
}

// InTransaction runs fn as Atomic.Atomically does, and returns its result; the zero value with an error.
func InTransaction[T any](ctx context.Context, a Atomic, fn func(Stores) (T, error)) (T, error) {
	var result T
	err := a.Atomically(ctx, func(tx Stores) (err error) {
		result, err = fn(tx)
		return err
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return result, nil
}
