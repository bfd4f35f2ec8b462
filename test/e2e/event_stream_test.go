package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/proof"
)

const (
	eventsStream = "/api/events/stream"
	created      = "?types=prompt_template.created"
)

// isStream reports whether the response of an operation goes on until someone ends it.
func isStream(op *openapi.Operation) bool {
	return strings.HasPrefix(op.ID, "stream")
}

func TestEventStream(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		second := s.another(t)
		ann := s.user(t, "owner")
		create := func(name string) string { return ann.create(t, templates, object{"name": name}).at("id") }

		t.Run("events arrive in the order of the feed, from every node", func(t *testing.T) {
			here, there := ann.streamOf(t, eventsStream, created), ann.at(second).streamOf(t, eventsStream, created)
			for i := range 3 {
				id := create(fmt.Sprint("ordered-", i))
				for _, e := range []*events{here, there} {
					got := e.is("",
						map[string]string{"type": "prompt_template.created", "subject": id, "actor": ann.id})
					if got.id != got.at("seq") {
						t.Errorf("the id is %s, the seq %s", got.id, got.at("seq"))
					}
				}
			}
			here.close()
			there.close()
		})
		t.Run("a reader resumes where it was, and misses nothing", func(t *testing.T) {
			e := ann.streamOf(t, eventsStream, created)
			first := create("resumed-1")
			last := e.is("", map[string]string{"subject": first}).id
			e.close()
			missed := create("resumed-2")
			e = ann.at(second).streamOf(t, eventsStream, created, "Last-Event-ID: "+last)
			e.is("", map[string]string{"subject": missed})
			e.close()
			ann.streamOf(t, eventsStream, created+"&after="+last).is("", map[string]string{"subject": missed})
		})
		t.Run("a filter sends only its types", func(t *testing.T) {
			e := ann.streamOf(t, eventsStream, "?types=prompt_template.deleted,prompt_template.updated")
			id := create("filtered")
			ann.do(t, "DELETE", "/api/prompt-templates/"+id, nil).is(t, 204)
			e.is("", map[string]string{"type": "prompt_template.deleted", "subject": id})
		})
		t.Run("a reader who cannot know everything is told", func(t *testing.T) {
			for _, last := range []string{"9000000", "nonsense", "-1"} {
				e := ann.streamOf(t, eventsStream, created, "Last-Event-ID: "+last)
				reset := e.is("reset", nil)
				id := create("reset-" + last)
				if e.is("", map[string]string{"subject": id}); reset.id == last {
					t.Errorf("the place is still %s", last)
				}
				e.close()
			}
		})
		t.Run("an event arrives soon", func(t *testing.T) {
			e := ann.streamOf(t, eventsStream, created)
			begun := time.Now()
			id := create("soon")
			e.is("", map[string]string{"subject": id})
			proof.Within(t, "from the request to the event", time.Since(begun), 250*time.Millisecond)
		})
		t.Run("it ends with the role that it requires", func(t *testing.T) {
			admin := s.user(t, "admin")
			e := admin.streamOf(t, eventsStream, "")
			member := "/api/workspaces/" + ann.workspace + "/members/" + admin.id
			ann.do(t, "PATCH", member, object{"role": "member"}, "If-Match: *").is(t, 200)
			e.ends(3 * time.Second)
			admin.do(t, "GET", eventsStream, nil).problem(t, 403, "forbidden")
		})
	})
}
