package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// example makes requests of one operation that succeed for every caller with the permission.
type example struct {
	make  func(t *testing.T, h *testWorkspace, c *testCaller) target
	each  bool // a target belongs to its caller; others may be refused
	after func(t *testing.T, h *testWorkspace)

	answers int // the status for permitted callers, if no request of the test can succeed
}

// level is what a caller may do with a template.
type level int

const (
	none level = iota
	viewing
	editing
	managing
	owning
)

// target is a request's path parameters, query, headers and body.
type target struct {
	ids     []string // for the path's parameters
	query   string
	headers []string
	body    any
	request string // the Request-Id; "allowed" if empty
}

// plainly is an example whose path has no parameters.
func plainly(body any) example {
	return example{make: func(*testing.T, *testWorkspace, *testCaller) target { return target{body: body} }}
}

// onWorkspace is an example on the workspace itself.
func onWorkspace(body any) example {
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.workspace}, body: body}
	}}
}

// withMember is an example on a new member.
func withMember(body any) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.workspace, h.program(t, "viewer").id}, body: body}
	}}
}

// withFile is an example on a new uploaded file.
func withFile(body any, headers ...string) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.upload(t)}, body: body, headers: headers}
	}}
}

// upload returns the id of a new file of the workspace, which waits for its content. Where the server takes no
// uploads, it is written into the database.
func (h *testWorkspace) upload(t *testing.T) (id string) {
	t.Helper()
	if a := h.owner.do(t, "POST", uploads, object{"name": "people.csv", "size": 1}, onRed); a.status == 201 {
		return a.at("id")
	}
	err := h.provisions(t.Context(), "red", func(s ports.Stores, by identity.Actor, _ *identity.Org) error {
		by.Workspace = identity.WorkspaceID(h.workspace)
		f, err := source.NewFile(by, "people.csv", 1)
		if err != nil {
			return err
		}
		f.Key, id = []byte{}, string(f.ID)
		return s.SourceFiles.Add(t.Context(), by, f)
	})
	require.NoError(t, err)
	return id
}

// ofTemplate is an example on the prompt template of the workspace, or below it.
func ofTemplate(body any, children ...string) example {
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: append([]string{h.template}, children...), body: body}
	}}
}

// ofChat is an example on the chat template of the workspace, or below it.
func ofChat(body any, children ...string) example {
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: append([]string{h.chat}, children...), body: body}
	}}
}

// withChatMember is an example on a new member of the chat template.
func withChatMember(body any) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		program := h.program(t, "viewer")
		h.author.create(t, chats+"/"+h.chat+"/members", object{"user_id": program.id, "role": "viewer"}, onRed)
		return target{ids: []string{h.chat, program.id}, body: body}
	}}
}

// withWorkflow is an example on an attached workflow.
var withWorkflow = example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
	h.author.do(t, "POST", chats+"/"+h.chat+"/workflows/hand-over", nil, onRed)
	return target{ids: []string{h.chat, "hand-over"}}
}}

// withEmbed is an example on a new embed token.
func withEmbed(body any) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		response := h.author.create(t, chats+"/"+h.doomedChat(t)+"/embed-tokens",
			object{"name": "Shop", "allowed_origins": []string{shop}}, onRed)
		ids := strings.Split(response.header.Get("Location"), "/")
		return target{ids: []string{ids[3], ids[5]}, body: body}
	}}
}

// visiting is an example of a visitor on the shop's page.
func visiting(in func(e *embeddedChat, session string) target) example {
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		position := in(h.embed, h.session)
		position.headers = append(position.headers, fromShop, "Referer: "+shop)
		return position
	}}
}

// ofSource is an example on the data source of the workspace.
func ofSource(body any) example {
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.source}, body: body}
	}}
}

// withPresence is an example on the presence of a new service key.
func withPresence() example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.program(t, "member").create(t, presences, object{}, onRed).at("id")}}
	}}
}

// withKey is an example on a key of the caller, or of the owner if the caller is not in the workspace.
func withKey(body any) example {
	return example{each: true, make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		person := h.owner
		switch {
		case c.viewing && c.id == h.author.id: // a read-only key cannot create one
			person = h.author
		case c.role != identity.NoRole && !c.viewing:
			person = c.client
		}
		return target{ids: []string{person.create(t, "/api/api-keys", object{"name": "to see"}, onRed).at("id")},
			body: body}
	}}
}

// Each call of the example gets a new body.
func eachTime(in func(body any) example, body func() any) example {
	return example{make: func(t *testing.T, h *testWorkspace, c *testCaller) target { return in(body()).make(t, h, c) }}
}

// ofPerson is an example on a passive user of the org.
func ofPerson(body any) example {
	return example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.person}, body: body}
	}}
}

func somebody() string { return fmt.Sprintf("somebody.%d@example.com", people.Add(1)) }
