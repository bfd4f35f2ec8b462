package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestWhoIsCutKnowsAllTheSame changes presences while readers are disconnected at any point and resume at any node. At
// the end they must have the same state as a reader that was never disconnected.
func TestWhoIsCutKnowsAllTheSame(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		lasts := proof.Sample(3*time.Second, 2*time.Minute)
		d := deployMigrated(t, engine)
		nodes := []*server{d.start(t)}
		if engine == postgres {
			nodes = append(nodes, d.start(t))
		}
		operator, member := nodes[0].user(t, "viewer", "--operator"), nodes[0].user(t, "member")
		var people []*client
		var ids []string
		for range 4 {
			p := nodes[0].user(t, "member")
			people, ids = append(people, p), append(ids, p.id)
		}
		query := "?user_id=" + strings.Join(ids, ",")
		// Of each pair the first is never cut.
		all, subset := []*reader{newReader(operator, "")}, []*reader{newReader(member, query)}
		for range 3 {
			all, subset = append(all, newReader(operator, "")), append(subset, newReader(member, query))
		}
		begin := time.Now()
		isOver := func() bool { return time.Since(begin) > lasts || t.Failed() }
		var running sync.WaitGroup
		var cuts, changes int
		var mu sync.Mutex
		for i, r := range append(all[1:len(all):len(all)], subset[1:]...) {
			r.open(t, nodes[i%len(nodes)])
			running.Go(func() {
				for n := 1; !isOver(); n++ {
					pause(t.Context(), rand.N(300*time.Millisecond))
					r.cut()
					pause(t.Context(), rand.N(300*time.Millisecond))
					r.open(t, nodes[rand.N(len(nodes))])
					mu.Lock()
					cuts++
					mu.Unlock()
				}
			})
		}
		all[0].open(t, nodes[0])
		subset[0].open(t, nodes[0])
		for _, p := range people {
			running.Go(func() {
				for n := 0; !isOver(); n++ {
					by := p.at(nodes[rand.N(len(nodes))])
					var err error
					if n%7 == 6 {
						_, err = by.try(t, "DELETE", presences+"/me", nil)
					} else {
						var a *answer
						a, err = by.try(t, "POST", presences, object{
							"device_id": fmt.Sprint("d", n%3), "activity": []string{"active", "idle"}[n/3%2],
							"text":   fmt.Sprint(n),
							"status": []string{"auto", "online", "away", "dnd", "invisible"}[rand.N(5)],
							"manual_until": time.Now().Add(200*time.Millisecond + rand.N(time.Second)).UTC().Format(
								time.RFC3339Nano),
						})
						if err == nil && a.status == 429 {
							pause(t.Context(), time.Second)
							continue
						}
					}
					assert.NoError(t, err)
					mu.Lock()
					changes++
					mu.Unlock()
					pause(t.Context(), rand.N(250*time.Millisecond))
				}
			})
		}
		running.Wait()
		for i, p := range people { // what the last change was is known
			p.do(t, "POST", presences, object{"device_id": "last", "status": "dnd",
				"text": fmt.Sprint("the end of ", i)})
		}
		for _, readers := range [][]*reader{all, subset} {
			soon(t, func() string {
				for i, p := range people {
					if got := readers[0].state()[p.id]; got.text != fmt.Sprint("the end of ", i) ||
						got.status != "dnd" {
						return fmt.Sprint(p.id, " is ", got)
					}
				}
				for i, r := range readers[1:] {
					if want, got := readers[0].state(), r.state(); !maps.Equal(want, got) {
						return fmt.Sprintf("reader %d: %v, want %v", i+1, got, want)
					}
				}
				return ""
			}, "")
			for _, r := range readers {
				r.sound(t)
			}
		}
		t.Logf("%d changes; %d streams were cut and resumed", changes, cuts)
	})
}
