package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	togetherMost  = 16                    // queries in one statement
	togetherStuck = 50 * time.Millisecond // after which a query does not wait for those that run
)

// errNotRun is the error of queries whose statement did not run to its end, because it panicked.
var errNotRun = errors.New("the statement of another query has not ended")

// together runs queries of one kind. While atOnce statements run, further queries wait. When one has ended, the query
// that has waited for longest runs, in one statement with all that differ from it only in their argument. So the more
// queries there are at the same time, the less each of them costs. No query gets a result of a statement that began
// before it.
type together[Query comparable, Arg, Result any] struct {
	run    func(context.Context, Query, []Arg) ([]Result, error) // returns a result for each argument
	atOnce int                                                   // 0 if none has to wait

	mu      sync.Mutex
	running int       // statements; more than atOnce after a wait of togetherStuck
	moved   time.Time // when a statement began or ended
	waiting []*waitingQuery[Query, Arg, Result]
}

// waitingQuery is a query that waits for its turn, or for the statement of another one.
type waitingQuery[Query comparable, Arg, Result any] struct {
	query  Query
	arg    Arg
	turn   chan struct{}                       // closed when it has to run the queries that it leads, or has its result
	leads  []*waitingQuery[Query, Arg, Result] // itself first; none if another one leads it
	result Result
	err    error
}

// do returns the result of a query. While it waits for statements of others, it does not heed ctx: these have deadlines
// of their own.
func (t *together[Query, Arg, Result]) do(ctx context.Context, query Query, arg Arg) (Result, error) {
	mine := t.enter(query, arg)
	if mine == nil {
		defer t.leave()
		return t.alone(ctx, query, arg)
	}
	<-mine.turn
	if mine.leads != nil {
		t.lead(ctx, mine.leads)
	}
	if mine.err != nil { // the reason may have been the context of another one
		return t.alone(ctx, query, arg)
	}
	return mine.result, nil
}

// enter returns nil for a query that can run now. It has to leave then.
func (t *together[Query, Arg, Result]) enter(query Query, arg Arg) *waitingQuery[Query, Arg, Result] {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.atOnce == 0 || t.running < t.atOnce {
		t.running++
		t.moved = now
		return nil
	}
	mine := &waitingQuery[Query, Arg, Result]{query: query, arg: arg, turn: make(chan struct{})}
	t.waiting = append(t.waiting, mine)
	if now.Sub(t.moved) >= togetherStuck { // perhaps a connection is lost, and others work
		t.running++
		t.next(now)
	}
	return mine
}

// leave ends a statement.
func (t *together[Query, Arg, Result]) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.running--
		return
	}
	t.next(time.Now())
}

// next lets the query that has waited for longest run, with the others that it can lead. The caller holds t.mu.
func (t *together[Query, Arg, Result]) next(now time.Time) {
	t.moved = now
	first, others := t.waiting[0], t.waiting[:0]
	for _, q := range t.waiting {
		if q.query == first.query && len(first.leads) < togetherMost {
			first.leads = append(first.leads, q)
		} else {
			others = append(others, q)
		}
	}
	clear(t.waiting[len(others):])
	t.waiting = others
	close(first.turn)
}

// lead runs queries as one statement, and tells those that wait for it.
func (t *together[Query, Arg, Result]) lead(ctx context.Context, queries []*waitingQuery[Query, Arg, Result]) {
	args := make([]Arg, len(queries))
	for i, q := range queries {
		args[i] = q.arg
	}
	var results []Result
	err := errNotRun
	defer func() {
		t.leave()
		for i, q := range queries {
			if q.err = err; err == nil {
				q.result = results[i]
			}
			if i > 0 {
				close(q.turn)
			}
		}
	}()
	results, err = t.run(ctx, queries[0].query, args)
}

// alone runs one query.
func (t *together[Query, Arg, Result]) alone(ctx context.Context, query Query, arg Arg) (result Result, err error) {
	results, err := t.run(ctx, query, []Arg{arg})
	if err == nil {
		result = results[0]
	}
	return result, err
}
