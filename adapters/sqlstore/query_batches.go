package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	maxBatch      = 16                    // queries in one statement
	batchPatience = 50 * time.Millisecond // after which a query does not wait for statements that run
)

// errNotRun is the error of queries whose statement did not run to its end, because it panicked.
var errNotRun = errors.New("the statement of another query has not ended")

// batcher runs a query for many arguments. While limit statements of a query run, calls with further arguments wait.
// When a statement has ended, those that wait become one statement. So the more calls there are at the same time, the
// less each of them costs. No call gets a result of a statement that began before it. Calls of different queries never
// wait for each other.
type batcher[Query comparable, Arg, Result any] struct {
	run   func(context.Context, Query, []Arg) ([]Result, error) // returns a result for each argument
	limit int                                                   // 0 if no call waits

	mu     sync.Mutex
	queues map[Query]*batchQueue[Arg, Result] // of queries with statements that run
}

// batchQueue has the calls of one query.
type batchQueue[Arg, Result any] struct {
	running int       // statements; more than the limit after batchPatience
	moved   time.Time // when a statement began or ended
	waiting []*waitingCall[Arg, Result]
}

// waitingCall is a call that waits for its turn, or for the statement of another one.
type waitingCall[Arg, Result any] struct {
	arg    Arg
	turn   chan struct{}               // closed when it has to run batch, or has its result
	batch  []*waitingCall[Arg, Result] // itself first; none if it is in the batch of another call
	result Result
	err    error
}

// do returns the result of a query. While it waits for statements of others, it does not heed ctx: these have deadlines
// of their own.
func (b *batcher[Query, Arg, Result]) do(ctx context.Context, query Query, arg Arg) (Result, error) {
	if b.limit == 0 {
		return b.alone(ctx, query, arg)
	}
	call := b.enter(query, arg)
	if call == nil {
		defer b.leave(query)
		return b.alone(ctx, query, arg)
	}
	<-call.turn
	if call.batch != nil {
		b.runBatch(ctx, query, call.batch)
	}
	if call.err != nil { // the reason may have been the context of another one
		return b.alone(ctx, query, arg)
	}
	return call.result, nil
}

// enter returns nil for a call that can run now. It has to leave then.
func (b *batcher[Query, Arg, Result]) enter(query Query, arg Arg) *waitingCall[Arg, Result] {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[query]
	if q == nil {
		q = &batchQueue[Arg, Result]{}
		if b.queues == nil {
			b.queues = map[Query]*batchQueue[Arg, Result]{}
		}
		b.queues[query] = q
	}
	now := time.Now()
	if q.running < b.limit {
		q.running++
		q.moved = now
		return nil
	}
	call := &waitingCall[Arg, Result]{arg: arg, turn: make(chan struct{})}
	q.waiting = append(q.waiting, call)
	if now.Sub(q.moved) >= batchPatience { // perhaps a connection is lost, and others work
		q.running++
		q.next(now)
	}
	return call
}

// leave ends a statement.
func (b *batcher[Query, Arg, Result]) leave(query Query) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[query]
	if len(q.waiting) > 0 {
		q.next(time.Now())
		return
	}
	if q.running--; q.running == 0 {
		delete(b.queues, query)
	}
}

// next lets the call that has waited for longest run a batch of those that wait. The caller holds the batcher's lock.
func (q *batchQueue[Arg, Result]) next(now time.Time) {
	q.moved = now
	n := min(len(q.waiting), maxBatch)
	first := q.waiting[0]
	first.batch, q.waiting = q.waiting[:n:n], q.waiting[n:]
	close(first.turn)
}

// runBatch runs a statement for calls, and tells those that wait for it.
func (b *batcher[Query, Arg, Result]) runBatch(ctx context.Context, query Query, calls []*waitingCall[Arg, Result]) {
	args := make([]Arg, len(calls))
	for i, c := range calls {
		args[i] = c.arg
	}
	var results []Result
	err := errNotRun
	defer func() {
		b.leave(query)
		for i, c := range calls {
			if c.err = err; err == nil {
				c.result = results[i]
			}
			if i > 0 {
				close(c.turn)
			}
		}
	}()
	results, err = b.run(ctx, query, args)
}

// alone runs a query for one argument.
func (b *batcher[Query, Arg, Result]) alone(ctx context.Context, query Query, arg Arg) (result Result, err error) {
	results, err := b.run(ctx, query, []Arg{arg})
	if err == nil {
		result = results[0]
	}
	return result, err
}
