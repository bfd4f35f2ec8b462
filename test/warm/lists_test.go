package warm

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// list is a list of 20 items, and what reading it may take at most, from the database and from memory.
type list struct {
	path        string
	statements  int // of the list itself
	allocations float64
}

// lists has what was measured in November 2026, and some more: the race detector adds 8 %, since it empties pools at
// random. Below the list itself, a request makes about 60 allocations.
var lists = []list{
	{"prompt-templates", 1, 300},
	{"chat-templates", 1, 300},
	{"connections", 1, 300},
	{"datasources", 1, 300},
	{"events", 1, 300},
}

// fromMemory is how many allocations a list may make that is read from memory.
const fromMemory = 75

func TestAListOf20TakesFewStatementsAndAllocations(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		sent := new(statements.Log)
		a := newAPI(t, url, sent)
		by := a.team.Owner
		for i := range 20 {
			fixture.Template(t, a.stores, by, prompt.Draft{Name: fmt.Sprint("Prompt ", i)})
			fixture.Chat(t, a.stores, by, chat.Draft{})
			c := fixture.Connection(t, a.stores, by)
			fixture.Source(t, a.stores, by, fixture.TableReading(c.ID))
		}
		for _, l := range lists {
			t.Run(l.path, func(t *testing.T) {
				r := a.request(t, by, "/api/"+l.path+"?limit=20")
				read := func() { a.get(t, r, httptest.NewRecorder()) }

				r.Header.Set("Cache-Control", "no-cache")
				w := httptest.NewRecorder()
				a.get(t, r, w)
				if n := strings.Count(w.Body.String(), `"created_at":`) +
					strings.Count(w.Body.String(), `"occurred_at":`); n != 20 {
					t.Fatalf("%d items:\n%s", n, w.Body)
				}
				sent.Take()
				read()
				ofList := 0
				for _, s := range sent.Take() {
					ofCaller := strings.Contains(s.Query, "t.hash = ") // once a second
					if s.Query != dataVersion && !ofCaller {
						ofList++
						t.Log(s.Query)
					}
				}
				if ofList != l.statements {
					t.Errorf("%d statements, want %d", ofList, l.statements)
				}
				if n := testing.AllocsPerRun(100, read); n > l.allocations {
					t.Errorf("%v allocations from the database, at most %v are allowed", n, l.allocations)
				} else {
					t.Logf("%v allocations from the database", n)
				}

				r.Header.Del("Cache-Control")
				for range 100 {
					begun := time.Now()
					read()
					n := testing.AllocsPerRun(20, read)
					if time.Since(begun) < time.Second { // what is in memory lasts that long
						if n > fromMemory {
							t.Errorf("%v allocations from memory", n)
						}
						t.Logf("%v allocations from memory", n)
						return
					}
				}
				t.Error("22 reads took longer than a second, a hundred times")
			})
		}
	})
}
