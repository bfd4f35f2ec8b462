package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// crashes is the number of times that the server is killed during a POST, on each engine.
const crashes = 10

func TestConcurrency(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "member")
		jointResponses := func(t *testing.T, n int, call func(i int) (*answer, error)) []*answer {
			t.Helper()
			answers, errs := make([]*answer, n), make([]error, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() { answers[i], errs[i] = call(i) })
			}
			wg.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
			return answers
		}

		t.Run("of 64 concurrent POSTs with one key one takes effect", func(t *testing.T) {
			answers := jointResponses(t, 64, func(int) (*answer, error) {
				return ann.try(t, "POST", templates, object{"name": "once"}, "Idempotency-Key: sixty-four")
			})
			first, ids := 0, map[string]bool{}
			for _, a := range answers {
				switch isReplay := a.header.Get("Idempotency-Replayed") == "true"; {
				case a.status == 201 && !isReplay:
					first++
					ids[a.at("id")] = true
				case a.status == 201:
					ids[a.at("id")] = true
				default:
					if a.problem(t, 409, "idempotency_in_flight"); a.header.Get("Retry-After") == "" {
						t.Error("there is no Retry-After")
					}
				}
			}
			if first != 1 || len(ids) != 1 {
				t.Errorf("%d first responses, with ids %v; want one", first, ids)
			}
			if values := ann.get(t, templates+"?q=once").items(t); len(values) != 1 {
				t.Errorf("there are %d templates, want 1", len(values))
			}
		})
		t.Run("32 concurrent activations all succeed, one after the other", func(t *testing.T) {
			template := ann.template(t, "raced")
			versions := make([]string, 32)
			for i := range versions {
				versions[i] = ann.version(t, template, fmt.Sprint("version ", i))
			}
			for _, a := range jointResponses(t, len(versions),
				func(i int) (*answer, error) { return ann.try(t, "POST", versions[i]+"/activate", nil) }) {
				a.is(t, 200)
			}
			current := ann.get(t, template).has(t, map[string]string{"revision": "33"})
			ledger := ann.get(t, template+"/activations?limit=100")
			to, from := ledger.each(t, "to_version_id"), ledger.each(t, "from_version_id")
			if len(to) != 32 || to[0] != current.at("active_version.id") {
				t.Fatalf("the ledger has %d rows and ends with %s, active is %s", len(to), to[0],
					current.at("active_version.id"))
			}
			if !slices.Equal(from, append(to[1:], "null")) {
				t.Errorf("the ledger is no chain:\nto   %v\nfrom %v", to, from)
			}
			active := 0
			for _, actual := range ann.get(t, template+"/versions?limit=100").each(t, "is_active") {
				if actual == "true" {
					active++
				}
			}
			assert.Equal(t, "versions are active", active, 1)
		})
		t.Run("of 16 concurrent changes of one revision one succeeds", func(t *testing.T) {
			template := ann.template(t, "contended")
			tag := ann.get(t, template).header.Get("Etag")
			won := 0
			for _, a := range jointResponses(t, 16, func(i int) (*answer, error) {
				return ann.try(t, "PATCH", template, object{"description": fmt.Sprint(i)}, "If-Match: "+tag)
			}) {
				if a.status == 200 {
					won++
					continue
				}
				a.problem(t, 412, "revision_mismatch")
			}
			assert.Equal(t, "changes were made", won, 1)
		})
		t.Run("of 16 concurrent templates with one name one is created", func(t *testing.T) {
			won := 0
			for _, a := range jointResponses(t, 16,
				func(int) (*answer, error) { return ann.try(t, "POST", templates, object{"name": "Only"}) }) {
				if a.status == 201 {
					won++
					continue
				}
				a.problem(t, 409, "name_taken")
			}
			assert.Equal(t, "templates were made", won, 1)
		})
	})
}

// TestCrash kills the server around a POST and repeats the POST after a restart. There must be exactly one effect,
// whether the POST had not begun, had taken effect without a response, or was answered.
func TestCrash(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine)
		s := d.start(t)
		ann := s.user(t, "member")
		usual := time.Hour // how long a POST takes, once the server has warmed up
		for i := range 5 {
			begin := time.Now()
			ann.create(t, templates, object{"name": fmt.Sprint("warm ", i)}, fmt.Sprint("Idempotency-Key: warm-", i))
			usual = min(usual, time.Since(begin))
		}
		count, answers := 5, 0
		for round := range crashes {
			name, key := fmt.Sprintf("round %02d", round), fmt.Sprint("Idempotency-Key: round-", round)
			moment := time.After(rand.N(usual * 3 / 2))
			done := make(chan *answer, 1)
			go func() {
				a, _ := ann.try(t, "POST", templates, object{"name": name}, key) // after a crash there is no response
				done <- a
			}()
			<-moment
			s.kill(t)
			first := <-done
			s = d.start(t)
			ann = ann.at(s)
			second := ann.do(t, "POST", templates, object{"name": name}, key)
			if second.at("code") == "idempotency_in_flight" {
				if second.header.Get("Retry-After") != "2" {
					t.Errorf("%s, Retry-After %q", second, second.header.Get("Retry-After"))
				}
				// A dead process's reservation lasts 8 s. Pretend that they have passed.
				d.sql(t, `UPDATE idempotency_keys SET until = 1 WHERE until > 0`)
				second = ann.do(t, "POST", templates, object{"name": name}, key)
			}
			second.is(t, 201)
			if first != nil {
				answers++
				if first.is(t, 201); first.text != second.text || second.header.Get("Idempotency-Replayed") != "true" {
					t.Errorf("round %d was answered, and the repetition differs:\n%s\n%s", round, first, second)
				}
			}
			count++
			if got := ann.get(t, templates+"?limit=100").items(t); len(got) != count {
				t.Fatalf("after round %d there are %d templates, want %d", round, len(got), count)
			}
		}
		t.Logf("%d of %d were answered before the crash", answers, crashes)
		if n := len(s.user(t, "admin").events(t, "&type=prompt_template.created")); n != count {
			t.Errorf("there are %d events of creation, want %d", n, count)
		}
	})
}

// TestTheKeyOfADeadProcessCanSoonBeUsedAgain kills the server amid a request to the gateway. Another request with its
// Idempotency-Key is told to wait, and takes effect at most ten seconds after the crash.
func TestTheKeyOfADeadProcessCanSoonBeUsedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		api, stripe := newStripe(t)
		d := deployMigrated(t, engine, stripe)
		s := d.start(t)
		ann := s.user(t, "owner")
		askedSignal := make(chan struct{}, 10)
		api.Provoke(func(stripeapi.Call) (stripeapi.Fault, time.Duration) {
			askedSignal <- struct{}{}
			return stripeapi.Silent, 0
		})
		const key = "Idempotency-Key: amid-a-call"
		setUp := func(c *client) (*answer, error) { return c.try(t, "POST", payments+"/setup-intent", object{}, key) }
		endedSignal := make(chan struct{})
		go func() {
			defer close(endedSignal)
			_, _ = setUp(ann)
		}()
		<-askedSignal
		s.kill(t)
		diedAt := time.Now()
		<-endedSignal
		api.Provoke(nil)
		ann = ann.at(d.start(t))
		var responses []time.Duration // after the crash
		proof.Eventually(t, "the key is not in flight", func() bool {
			a, err := setUp(ann)
			require.NoError(t, err)
			responses = append(responses, time.Since(diedAt))
			if a.status == 201 {
				return true
			}
			if a.problem(t, 409, "idempotency_in_flight"); a.header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
			}
			return false
		})
		count := len(responses) - 1
		t.Logf("%d requests were refused, for %s after the crash", count, time.Since(diedAt).Round(time.Millisecond))
		proof.Within(t, "until the key of the dead process could be used", time.Since(diedAt), 10*time.Second)
		// A busy machine may need longer for a start than the key is reserved: eight seconds, renewed every two.
		if (count == 0 && responses[0] < 6*time.Second) || api.Customers() != 1 {
			t.Errorf("%d requests were refused, and there are %d customers", count, api.Customers())
		}
	})
}
