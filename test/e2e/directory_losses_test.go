package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestSomeoneIsResponsibleAfterADeactivation has a directory deactivate an operator who owns a workspace alone and made
// a service key in another.
func TestSomeoneIsResponsibleAfterADeactivation(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		smtp := fixture.NewSMTP(t, "none")
		s, scimmer := directory(t, engine, "", set("mail.smtp.addr", smtp.Addr()),
			set("mail.smtp.from", "atrium@example.com"), set("mail.smtp.tls", "none"))
		owner := s.user(t, "owner")
		id := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201).at("id")
		s.must(t, "user", "create", "--email", "ann@example.com", "--workspace", "default", "--role", "admin",
			"--operator")
		s.must(t, "user", "create", "--email", "ann@example.com", "--workspace", "solo", "--role", "owner")
		one := scimUsers + "/" + id
		ann := &client{server: s, id: id, email: "ann@example.com", workspace: owner.workspace}
		own, _ := ann.key(t)
		program, _ := own.service(t, "admin")
		inactive := patch(object{"op": "replace", "path": "active", "value": false})
		t.Run("the only operator stays", func(t *testing.T) {
			scimmer.do(t, "PATCH", one, inactive).refused(t, 409, "last_operator")
			scimmer.do(t, "DELETE", one, nil).refused(t, 409, "last_operator")
			own.get(t, "/api/me").has(t, map[string]string{"user.operator": "true"})
		})
		operator := s.user(t, "owner", "--operator")
		bob := s.user(t, "admin", "--workspace", "solo")
		scimmer.do(t, "PATCH", one, inactive).is(t, 200).has(t, map[string]string{"active": "false"})
		program.refusedWithin(t, 1500*time.Millisecond)
		letter := func(recipient, subject string) string {
			for _, l := range smtp.Letters() {
				if l.To == recipient && strings.Contains(l.Text, subject) {
					return l.Text
				}
			}
			return ""
		}
		t.Run("operators are told of workspaces without an owner", func(t *testing.T) {
			proof.Eventually(t, "the letter", func() bool {
				return strings.Contains(letter(operator.email, "only active owner"), "- solo")
			})
			bob.get(t, "/api/events?type=workspace.owner_lost").has(t,
				map[string]string{"data.0.data.slug": "solo", "data.0.data.user_id": id, "data.1": ""})
		})
		t.Run("owners are told of suspended service keys", func(t *testing.T) {
			proof.Eventually(t, "the letter", func() bool {
				return strings.Contains(letter(owner.email, "Programs that use them"), "whose token ends in")
			})
		})
	})
}

// TestLargeGroups creates, replaces and deletes a group of as many people as it can have.
func TestLargeGroups(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, scimmer := directory(t, engine, "", busyDirectory...)
		owner := s.user(t, "owner")
		people := make([]object, proof.Sample(30, 10_000))
		var creating sync.WaitGroup
		next := make(chan int)
		for range 8 {
			creating.Go(func() {
				for i := range next {
					name := fmt.Sprintf("p%d@example.com", i)
					a, err := scimmer.try(t, "POST", scimUsers, scimUser(name))
					if err != nil || a.status != 201 {
						t.Errorf("%s: %v, %v", name, a, err)
						continue
					}
					people[i] = object{"value": a.at("id")}
				}
			})
		}
		for i := range people {
			next <- i
		}
		close(next)
		creating.Wait()
		group := object{"displayName": "Engineering", "members": people}
		isMember := func(i int) func() bool {
			return func() bool {
				path := "/api/workspaces/default/members/" + people[i]["value"].(string)
				return owner.do(t, "GET", path, nil).status == 200
			}
		}
		timed := func(what, method, path string, status int, body any) *answer {
			start := time.Now()
			a := scimmer.do(t, method, path, body).is(t, status)
			proof.Within(t, what, time.Since(start), 30*time.Second)
			return a
		}
		last := len(people) - 1
		path := scimGroup + "/" + timed("creating it", "POST", scimGroup, 201, group).at("id")
		proof.EventuallyWithin(t, "the last one's role", time.Minute, isMember(last))
		group["members"] = people[:len(people)/2]
		replaced := timed("replacing it", "PUT", path, 200, group)
		proof.EventuallyWithin(t, "the loss of the last one's role", time.Minute,
			func() bool { return !isMember(last)() })
		assert.Equal(t, "the first one is a member", isMember(0)(), true)
		members, _ := replaced.value("members")
		list, _ := members.([]any)
		assert.Equal(t, "members of the response", len(list), len(people)/2)
		timed("deleting it", "DELETE", path, 204, nil)
		proof.EventuallyWithin(t, "the loss of the first one's role", time.Minute,
			func() bool { return !isMember(0)() })
	})
}
