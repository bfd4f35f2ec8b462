package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// heldQueries are queries whose statements end when they are released. The result of a query is its argument, doubled.
type heldQueries struct {
	batcher[string, int, int]
	mu         sync.Mutex
	statements []string      // that have begun
	release    chan struct{} // a value ends one of them
	fails      func(args []int) error
	results    sync.Map // of asked, by argument
}

func newHeldQueries(limit int) *heldQueries {
	h := &heldQueries{release: make(chan struct{}), fails: func([]int) error { return nil }}
	h.limit = limit
	h.run = func(_ context.Context, query string, args []int) ([]int, error) {
		h.mu.Lock()
		h.statements = append(h.statements, fmt.Sprint(query, args))
		h.mu.Unlock()
		<-h.release
		doubled := make([]int, len(args))
		for i, a := range args {
			doubled[i] = 2 * a
		}
		return doubled, h.fails(args)
	}
	return h
}

// ask asks one query after the other, each when those before it run or wait.
func (h *heldQueries) ask(t *testing.T, query string, args ...int) {
	t.Helper()
	for _, arg := range args {
		go func() {
			result, err := h.do(t.Context(), query, arg)
			if err != nil {
				h.results.Store(arg, err)
				return
			}
			h.results.Store(arg, result)
		}()
		synctest.Wait()
	}
}

// end ends one statement, and waits for what follows.
func (h *heldQueries) end() {
	h.release <- struct{}{}
	synctest.Wait()
}

func (h *heldQueries) check(t *testing.T, statements ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.statements, statements) {
		t.Errorf("statements: %q, want %q", h.statements, statements)
	}
}

func (h *heldQueries) checkResult(t *testing.T, args ...int) {
	t.Helper()
	for _, arg := range args {
		if result, _ := h.results.Load(arg); result != 2*arg {
			t.Errorf("the result for %d is %v", arg, result)
		}
	}
}

func TestQueriesThatWaitAtTheSameTimeAreOneStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(2)
		h.ask(t, "a", 1, 2, 3, 4, 5)
		h.check(t, "a[1]", "a[2]")
		h.end()
		h.check(t, "a[1]", "a[2]", "a[3 4 5]")
		h.end()
		h.end()
		h.checkResult(t, 1, 2, 3, 4, 5)
		h.ask(t, "a", 6, 7, 8)
		h.check(t, "a[1]", "a[2]", "a[3 4 5]", "a[6]", "a[7]")
		h.end()
		h.end()
		h.end()
		h.checkResult(t, 6, 7, 8)
		if len(h.queues) > 0 {
			t.Errorf("queries that ended are kept: %v", h.queues)
		}
	})
}

func TestDifferentQueriesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(1)
		h.ask(t, "a", 1, 2)
		h.ask(t, "b", 3, 4)
		h.ask(t, "c", 5)
		h.check(t, "a[1]", "b[3]", "c[5]")
		for range 5 {
			h.end()
		}
		h.checkResult(t, 1, 2, 3, 4, 5)
	})
}

func TestAStatementHasALimitedNumberOfQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(1)
		for i := range maxBatch + 3 {
			h.ask(t, "a", i)
		}
		h.end()
		h.check(t, "a[0]", fmt.Sprint("a", upTo(maxBatch)))
		h.end()
		h.check(t, "a[0]", fmt.Sprint("a", upTo(maxBatch)), "a[17 18]")
		h.end()
		h.checkResult(t, upTo(maxBatch+2)...)
	})
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

func TestQueriesNeverWaitWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(0)
		h.ask(t, "a", 1, 2, 3)
		h.check(t, "a[1]", "a[2]", "a[3]")
		h.end()
		h.end()
		h.end()
	})
}

func TestEachQueryRunsByItselfAfterTheirStatementFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(1)
		errBad := errors.New("bad")
		h.fails = func(args []int) error {
			if slices.Contains(args, 3) {
				return errBad
			}
			return nil
		}
		h.ask(t, "a", 1, 2, 3)
		for range 4 {
			h.end()
		}
		h.checkResult(t, 1, 2)
		if err, _ := h.results.Load(3); err != errBad {
			t.Errorf("the result of the query that fails is %v", err)
		}
		if !slices.Equal(h.statements[:2], []string{"a[1]", "a[2 3]"}) || len(h.statements) != 4 {
			t.Errorf("statements: %q", h.statements)
		}
	})
}

func TestAQueryDoesNotWaitForStatementsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(1)
		h.ask(t, "a", 1, 2)
		time.Sleep(batchPatience)
		h.ask(t, "a", 3, 4)
		h.check(t, "a[1]", "a[2 3]")
		h.end() // either of them
		h.end()
		h.end()
		h.checkResult(t, 1, 2, 3, 4)
		h.ask(t, "a", 5, 6)
		h.check(t, "a[1]", "a[2 3]", "a[4]", "a[5]")
		h.end()
		h.end()
	})
}

func TestAPanicOfAStatementEndsNoOtherQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeldQueries(1)
		h.fails = func(args []int) error {
			if len(args) > 1 {
				panic("by a test")
			}
			return nil
		}
		h.ask(t, "a", 1)
		go func() {
			defer func() { _ = recover() }()
			_, _ = h.do(t.Context(), "a", 2)
		}()
		synctest.Wait()
		h.ask(t, "a", 3)
		h.end()
		h.end()
		h.end()
		h.checkResult(t, 1, 3)
		h.check(t, "a[1]", "a[2 3]", "a[3]")
	})
}
