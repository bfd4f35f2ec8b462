package db

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestConcurrentLookUpsOfACredentialReadItOnce(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(r *ttlCache[string, int])
		fails     bool
		want      map[int]int // how many of the five calls get which value; 0 is an error
	}{
		{"nothing changes", func(*ttlCache[string, int]) {}, false, map[int]int{1: 5}},
		{"the cache is cleared before the others ask", func(r *ttlCache[string, int]) { r.forget() }, false,
			map[int]int{1: 1, 2: 4}},
		{"the first read fails", func(*ttlCache[string, int]) {}, true, map[int]int{0: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r ttlCache[string, int]
				var reads atomic.Int64
				goOn := make(chan struct{})
				read := func() (int, error) {
					n := int(reads.Add(1))
					<-goOn
					if n == 1 && tt.fails {
						return 0, errors.New("the database has gone")
					}
					return n, nil
				}
				var mu sync.Mutex
				got := map[int]int{}
				var calls sync.WaitGroup
				get := func() {
					calls.Go(func() {
						n, _ := r.Get(context.Background(), "key", read)
						mu.Lock()
						defer mu.Unlock()
						got[n]++
					})
				}
				get()
				synctest.Wait()
				tt.meanwhile(&r)
				for range 4 {
					get()
				}
				synctest.Wait()
				close(goOn)
				calls.Wait()
				for value, times := range tt.want {
					if got[value] != times {
						t.Errorf("%d calls got %d, want %d", got[value], value, times)
					}
				}
				assert.Equal(t, "reads are not finished", len(r.reading), 0)
			})
		})
	}
}

func TestALookUpThatWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r ttlCache[string, int]
		goOn := make(chan struct{})
		go func() {
			_, _ = r.Get(context.Background(), "key", func() (int, error) { <-goOn; return 1, nil })
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Get(ctx, "key", func() (int, error) { return 0, ctx.Err() }); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		close(goOn)
	})
}

func TestACredentialIsTrustedForASecondAfterItsReadBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r ttlCache[string, int]
		reads := 0
		get := func(takes time.Duration) {
			_, err := r.Get(t.Context(), "key", func() (int, error) {
				reads++
				time.Sleep(takes) // the clock of synctest
				return reads, nil
			})
			assert.NoError(t, err)
		}
		get(principalsFresh)
		get(principalsFresh - 1)
		get(0)
		assert.Equal(t, "reads", reads, 2)
	})
}
