package e2e

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/id"
)

// deletedThings has one deleted thing of each kind that is hidden after deletion, by id prefix. Revoked things (keys,
// connections) stay visible.
func (h *testWorkspace) deletedThings(t *testing.T) map[string]string {
	t.Helper()
	goneTexts := map[string]string{}
	end := func(by *client, path, id string) {
		t.Helper()
		by.do(t, "DELETE", path+"/"+id, nil, onRed).is(t, 204)
		goneTexts[kind(id)] = id
	}
	end(h.author, templates, h.doomed(t))
	end(h.author, chats, h.doomedChat(t))
	versions := templates + "/" + h.template + "/versions"
	end(h.author, versions, h.author.create(t, versions, object{"text": "gone"}, onRed).at("id"))
	tokens := chats + "/" + h.chat + "/embed-tokens"
	end(h.author, tokens, h.author.create(t, tokens, object{"name": "gone", "allowed_origins": []string{shop}},
		onRed).at("id"))
	end(h.owner, sources, h.attach(t, h.owner))
	end(h.owner, groups, h.owner.create(t, groups, object{"name": "gone"}, onRed).at("id"))
	invitation, _ := invite(t, h.owner, h.workspace, somebody(), "viewer")
	end(h.owner, "/api/workspaces/"+h.workspace+"/invitations", invitation)
	program := h.program(t, "member")
	end(program, presences, program.create(t, presences, object{}, onRed).at("id"))
	return goneTexts
}

// hidesDeleted expects that deleted things look like things that never existed, even to the callers with the most
// permissions. Only restore finds them.
func (h *testWorkspace) hidesDeleted(t *testing.T, op *openapi.Operation, example example, texts map[string]string) {
	t.Helper()
	if op.ID == "restorePromptTemplate" || op.ID == "restoreChatTemplate" {
		return
	}
	for _, c := range h.callers {
		if c.name != "the owner" && c.name != "the template's owner" {
			continue
		}
		position := example.make(t, h, c)
		for i, name := range position.ids {
			deletedText, ok := texts[kind(name)]
			if !ok || (op.ID == "reportPromptVersionCheck" && i == 2) { // the name of a check can be any
				continue
			}
			item, absent := position.but(i, deletedText), position.but(i, id.New(kind(name)))
			if kind(name) == "etok" { // which is of the chat of the workspace
				item, absent = item.but(0, h.chat), absent.but(0, h.chat)
			}
			same(t, c.name+", "+deletedText, c.call(t, op, item), c.call(t, op, absent))
		}
	}
}
