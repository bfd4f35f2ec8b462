package server

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestExchangeAsContext(t *testing.T) {
	run := func(name string, check func(*testing.T, *exchange, context.CancelFunc)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), testKey{}, "value"))
				defer cancel()
				x := &exchange{parent: parent, begun: time.Now()}
				check(t, x, cancel)
				x.end()
			})
		})
	}
	run("without a limit it ends with its parent", func(t *testing.T, x *exchange, cancel context.CancelFunc) {
		if _, limited := x.Deadline(); limited || x.Err() != nil {
			t.Fatalf("limited: %v, %v", limited, x.Err())
		}
		cancel()
		<-x.Done()
		if !errors.Is(x.Err(), context.Canceled) {
			t.Errorf("%v", x.Err())
		}
	})
	run("with a limit it ends in time for those who wait", func(t *testing.T, x *exchange, _ context.CancelFunc) {
		x.limit(time.Second)
		derived, stop := context.WithCancel(x)
		defer stop()
		time.Sleep(time.Second - 1)
		if x.Err() != nil || derived.Err() != nil {
			t.Fatalf("too early: %v, %v", x.Err(), derived.Err())
		}
		time.Sleep(time.Nanosecond)
		<-x.Done()
		<-derived.Done()
		if !errors.Is(x.Err(), context.DeadlineExceeded) || !errors.Is(derived.Err(), context.DeadlineExceeded) {
			t.Errorf("%v, %v", x.Err(), derived.Err())
		}
	})
	run("with a limit it ends in time for those who only look", func(t *testing.T, x *exchange, _ context.CancelFunc) {
		x.limit(time.Second)
		if now, limited := x.Deadline(); !limited || time.Until(now) != time.Second {
			t.Errorf("%v, %v", now, limited)
		}
		time.Sleep(time.Second)
		if !errors.Is(x.Err(), context.DeadlineExceeded) {
			t.Errorf("%v", x.Err())
		}
	})
	run("with a limit it ends with its parent too", func(t *testing.T, x *exchange, cancel context.CancelFunc) {
		x.limit(time.Second)
		done := x.Done()
		cancel()
		<-done
		if !errors.Is(x.Err(), context.Canceled) {
			t.Errorf("%v", x.Err())
		}
	})
	run("its end ends who still waits", func(t *testing.T, x *exchange, _ context.CancelFunc) {
		x.limit(time.Second)
		done := x.Done()
		x.end()
		<-done
		if !errors.Is(x.Err(), context.Canceled) {
			t.Errorf("%v", x.Err())
		}
	})
	run("it knows the values of its parent", func(t *testing.T, x *exchange, _ context.CancelFunc) {
		if x.Value(testKey{}) != "value" || x.Value(exchangeKey{}) != x {
			t.Error("not before it is waited for")
		}
		x.limit(time.Second)
		_ = x.Done()
		if x.Value(testKey{}) != "value" || x.Value(exchangeKey{}) != x {
			t.Error("not when it is waited for")
		}
		r := httptest.NewRequestWithContext(context.WithValue(x, testKey{}, "derived"), "GET", "/", nil)
		if exchangeOf(r) != x {
			t.Error("not found in a derived context")
		}
	})
}

type testKey struct{}
