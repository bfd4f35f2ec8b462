package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestACrashAmongConnections kills the server while connections are created, verified and revoked. No secret may ever
// be stored in plain text, and revoked connections must stay revoked.
func TestACrashAmongConnections(t *testing.T) {
	rounds := proof.Sample(5, 50) // on each engine
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine, toShops)
		s := d.start(t)
		admin, shop := s.user(t, "admin"), newShop(t)
		var mu sync.Mutex
		var live []string                 // not yet chosen for revocation
		revokedTexts := map[string]bool{} // and acknowledged
		note := func(a *answer) {
			if a != nil && a.status == 201 {
				mu.Lock()
				defer mu.Unlock()
				live = append(live, a.at("id"))
			}
		}
		// pick returns one of the live connections. It removes one that is to be revoked, so that no client starts to
		// verify it after its revocation.
		pick := func(forGood bool) string {
			mu.Lock()
			defer mu.Unlock()
			if len(live) == 0 {
				return ""
			}
			i := rand.N(len(live))
			id := live[i]
			if forGood {
				live = append(live[:i], live[i+1:]...)
			}
			return id
		}
		// The first one also opens connections of the server, and starts a child process.
		note(admin.create(t, connections, shop.connection(fixture.Canary)))
		begin := time.Now()
		note(admin.create(t, connections, shop.connection(fixture.Canary)))
		usual := time.Since(begin)

		for round := range rounds {
			c, revocations := admin.at(s), make(chan struct{}, 1)
			var clients sync.WaitGroup
			repeatUntil := func(call func(i int) (*answer, error)) {
				clients.Go(func() {
					for i := 0; ; i++ {
						if _, err := call(i); err != nil {
							return // the server is gone
						}
					}
				})
			}
			repeatUntil(func(i int) (*answer, error) {
				a, err := c.try(t, "POST", connections, shop.connection(fixture.Canary),
					fmt.Sprintf("Idempotency-Key: %d-%d", round, i))
				note(a)
				return a, err
			})
			repeatUntil(func(int) (*answer, error) {
				return c.try(t, "POST", connections+"/"+pick(false)+"/verify",
					object{"credential": shop.credential(fixture.Canary)})
			})
			repeatUntil(func(int) (*answer, error) {
				id := pick(true)
				if id == "" {
					pause(t.Context(), usual/10) // until there is one
					return nil, c.reachable()
				}
				a, err := c.try(t, "DELETE", connections+"/"+id, nil)
				if err == nil && a.status == 200 {
					mu.Lock()
					defer mu.Unlock()
					revokedTexts[id] = true
					select {
					case revocations <- struct{}{}:
					default:
					}
				}
				return a, err
			})
			// A revocation takes longer than a creation, as it waits for those who read by the connection.
			if round%2 == 1 {
				select {
				case <-revocations:
				case <-time.After(patience):
					t.Fatal("no connection was revoked")
				}
			}
			pause(t.Context(), rand.N(3*usual))
			s.kill(t)
			clients.Wait()
			lookForCanary(t, s)
			s = d.start(t)
			for id, status := range statuses(t, admin.at(s)) {
				if revokedTexts[id] && status != "revoked" && !d.broughtBack(t, id) {
					t.Errorf("after round %d %s is %s, and was revoked", round, id, status)
				}
			}
		}
		t.Logf("%d were revoked", len(revokedTexts))
		t.Run("a revocation that was undone by a user is distinguished from a lost one", func(t *testing.T) {
			c := s.user(t, "owner", "--workspace", "elsewhere") // the other workspace may have reached its limit
			id := c.create(t, connections, shop.connection(fixture.Canary)).at("id")
			c.do(t, "DELETE", connections+"/"+id, nil).is(t, 200)
			if d.broughtBack(t, id) {
				t.Error("nobody has undone it")
			}
			c.do(t, "POST", connections+"/"+id+"/verify", object{"credential": shop.credential(fixture.Canary)}).is(t,
				200)
			if !d.broughtBack(t, id) {
				t.Error("it was undone, and the trail does not tell")
			}
			c.do(t, "DELETE", connections+"/"+id, nil).is(t, 200)
		})
		t.Run("exactly the live connections have a credential, and it can be opened", func(t *testing.T) {
			c := admin.at(s)
			n := 0
			for id, status := range statuses(t, c) {
				if status == "revoked" {
					c.do(t, "POST", connections+"/"+id+"/verify", nil).problem(t, 409, "connection_revoked")
					continue
				}
				if n++; n <= 3 {
					c.do(t, "POST", connections+"/"+id+"/verify", nil).is(t, 200).has(t,
						map[string]string{"status": "active"})
				}
			}
			if sealedCount := strings.Count(s.dumpOf(t, "connection_credentials"), "\n"); sealedCount != n {
				t.Errorf("%d credentials of %d live connections", sealedCount, n)
			}
		})
	})
}

// broughtBack reports whether the audit trail says that a revoked connection got a new credential. A client may have
// chosen it for verification before another revoked it, and sent the request afterwards.
func (d *deployment) broughtBack(t *testing.T, id string) bool {
	t.Helper()
	_, trail := d.trail(t)
	for _, line := range strings.Split(trail, "\n") {
		if strings.HasPrefix(line, "connection.credential_replaced "+id+" ") && strings.Contains(line, `"revoked"`) {
			return true
		}
	}
	return false
}

// statuses returns the statuses of the workspace's connections, by id.
func statuses(t *testing.T, c *client) map[string]string {
	t.Helper()
	var list struct {
		Data []struct{ ID, Status string }
	}
	require.NoError(t, json.Unmarshal([]byte(c.get(t, connections).text), &list))
	out := map[string]string{}
	for _, one := range list.Data {
		out[one.ID] = one.Status
	}
	return out
}

// reachable returns an error once the server is gone.
func (c *client) reachable() error {
	if c.server.running() {
		return nil
	}
	return os.ErrProcessDone
}

var resealed = regexp.MustCompile(`"msg":"credentials were sealed under the primary key","changed":1`)

func TestTheKeyringOfCredentials(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine, toShops)
		s := d.start(t)
		ann, shop := s.user(t, "member"), newShop(t)
		one := connections + "/" + ann.create(t, connections, shop.connection(fixture.Canary)).at("id")
		previous := s.dumpOf(t, "connection_credentials")

		t.Run("after a key rotation and SIGHUP the server reseals credentials and continues", func(t *testing.T) {
			d.must(t, "keys", "rotate")
			s.signal(t, syscall.SIGHUP)
			s.stderr.await(t, s, resealed)
			if next := s.dumpOf(t, "connection_credentials"); next == previous {
				t.Error("the sealed credential is the old one")
			}
			ann.do(t, "POST", one+"/verify", nil).is(t, 200).has(t, map[string]string{"status": "active"})
		})
		t.Run("`keys reseal` reseals credentials and prints its progress", func(t *testing.T) {
			d.must(t, "keys", "rotate")
			if out := d.must(t, "keys", "reseal"); !strings.Contains(out, " looked at\n") ||
				!strings.Contains(out, "Resealed 1;") {
				t.Errorf("it wrote %s", out)
			}
			assert.Contains(t, "it wrote", d.must(t, "keys", "reseal"), "Resealed 0;")
			s.signal(t, syscall.SIGHUP)
			ann.do(t, "POST", one+"/verify", nil).is(t, 200).has(t, map[string]string{"status": "active"})
		})
		s.stop(t)
		t.Run("without the keyring the server does not start, and says how much is lost", func(t *testing.T) {
			require.NoError(t, os.Rename(d.keyFile(), d.keyFile()+".away"))
			if r := d.run(t, "serve"); r.code != 1 ||
				!strings.Contains(r.stderr, "the credentials of 1 connection are sealed") {
				t.Errorf("it ended with %d: %s", r.code, r.stderr)
			}
			if r := d.run(t, "keys", "create"); r.code != 1 {
				t.Errorf("a new key file was made: %s", r.stdout)
			}
			other := deploy(t, sqlite)
			other.must(t, "keys", "create")
			require.NoError(t, os.Rename(other.keyFile(), d.keyFile()))
			if r := d.run(t, "serve"); r.code != 1 ||
				!strings.Contains(r.stderr, "the credentials of 1 connection are sealed") {
				t.Errorf("it ended with %d: %s", r.code, r.stderr)
			}
			require.NoError(t, os.Rename(d.keyFile()+".away", d.keyFile()))
			ann.at(d.start(t)).do(t, "POST", one+"/verify", nil).is(t, 200)
		})
	})
}
