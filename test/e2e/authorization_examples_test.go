package e2e

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/secret"
)

// examples has a row, by operationId, for each operation whose example exampleOf cannot derive from openapi.yaml.
var examples = map[string]example{
	"erasePerson": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.sleeper(t)}}
	}},
	"getErasure": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.erased(t)}}
	}},
	"disablePerson": ofPerson(object{"reason": "Left the company", "keep_service_keys": true}),
	"setOperator":   ofPerson(object{"operator": false}),

	"endPersonSessions": ofPerson(nil),

	"reportLeakedKeys": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		body := `[{"token": "` + account.NewToken().Reveal() + `"}]`
		return target{body: body, headers: signedReport(t, h.reporter, body)}
	}},
	"beginSignIn": {answers: 303, make: func(*testing.T, *testWorkspace, *testCaller) target {
		return target{ids: []string{"main"}}
	}},
	"finishSignIn": {answers: 303, make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		in := h.begin(t, "main", "", onRed)
		return target{query: "?" + in.back.Encode(), headers: []string{"Cookie: " + in.cookie}}
	}},
	"receiveLogout": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{body: object{"logout_token": h.provider.Token(h.provider.LogoutToken(object{"sub": "nobody"}))}}
	}},
	"openSession": {make: func(_ *testing.T, h *testWorkspace, c *testCaller) target {
		if c.host == onBlue {
			return target{body: object{"token": h.blue.token}}
		}
		return target{body: object{"token": h.owner.token}}
	}},
	"previewInvitation": {make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		return target{body: object{"token": h.invites(t, c.host)}}
	}},
	"joinByInvitation": {answers: 409, make: func(t *testing.T, h *testWorkspace, c *testCaller) target { // red has an issuer
		return target{body: object{"token": h.invites(t, c.host)}}
	}},
	"mailSignInLink":    {answers: 409, make: plainly(object{"email": "nobody@example.com"}).make}, // no mail server
	"previewSignInLink": {answers: 401, make: plainly(object{"token": secret.NewToken("atl_").Reveal()}).make},
	"getSession":        withSession(),
	"endSession":        withSession(),
	"endSessions":       {make: plainly(nil).make, after: func(t *testing.T, h *testWorkspace) { h.signInAgain(t) }},
	"endOwnSession":     {make: ownSession, each: true},

	"getPasskeySignInOptions": {answers: 409, make: plainly(nil).make}, // red has an issuer
	"signInWithPasskey":       {answers: 409, make: passkeyToSignIn},
	"getStepUpOptions":        withPasskey(false, nil),
	"stepUp":                  {make: passkeyToStepUp, each: true},
	"addPasskey":              {make: passkeyToAdd, each: true},
	"getPasskey":              withPasskey(true, nil),
	"renamePasskey":           withPasskey(true, object{"name": "Renamed"}),
	"removePasskey":           withPasskey(true, nil),

	"getProblem": {make: func(*testing.T, *testWorkspace, *testCaller) target { return target{ids: []string{"not_found"}} }},

	// Who signs in next has the name of their token again, which leaves an event.
	"updateMe": {make: plainly(object{"name": "Me"}).make,
		after: func(t *testing.T, h *testWorkspace) { h.guest.get(t, "/api/me", onRed) }},
	"createWorkspace": eachTime(plainly, func() any {
		return object{"name": fmt.Sprint("Made ", people.Add(1))}
	}),
	"updateWorkspace": onWorkspace(object{"name": "Home"}),
	"deleteWorkspace": {make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		h.disconnect(t)
		return onWorkspace(nil).make(t, h, c)
	}, after: func(t *testing.T, h *testWorkspace) {
		h.must(t, "workspace", "restore", "--org", "red", h.workspace)
	}},
	"transferWorkspace": transferred(),
	"getMember":         withMember(nil),
	"getMemberAccess": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.workspace, h.author.id}}
	}},
	"updateMember": withMember(object{"role": "member"}),
	"removeMember": withMember(nil),
	"createInvitation": eachTime(onWorkspace, func() any {
		return object{"email": somebody(), "role": "viewer"}
	}),
	"getInvitation": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id, _ := invite(t, h.owner, h.workspace, somebody(), "viewer")
		return target{ids: []string{h.workspace, id}}
	}},
	"deleteInvitation": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id, _ := invite(t, h.owner, h.workspace, somebody(), "viewer")
		return target{ids: []string{h.workspace, id}}
	}},
	"acceptInvitation": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		_, token := invite(t, h.elsewhere, h.elsewhere.workspace, h.guest.email, "viewer")
		return target{body: object{"token": token}}
	}, after: func(t *testing.T, h *testWorkspace) {
		h.elsewhere.do(t, "DELETE", "/api/workspaces/"+h.elsewhere.workspace+"/members/"+h.guest.id, nil,
			onRed).is(t, 204)
	}},

	"createGroup": eachTime(plainly, func() any {
		return object{"name": fmt.Sprint("Group ", people.Add(1)), "role": "viewer"}
	}),
	"getGroup":          ofGroup(nil, ""),
	"updateGroup":       ofGroup(object{"role": "member"}, ""),
	"deleteGroup":       ofGroup(nil, ""),
	"listGroupMembers":  ofGroup(nil, ""),
	"addGroupMember":    ofGroup(nil, "outside"),
	"removeGroupMember": ofGroup(nil, "inside"),

	"createAPIKey": plainly(object{"name": "another"}),
	"getAPIKey":    withKey(nil),
	"revokeAPIKey": withKey(nil),
	"rotateAPIKey": withKey(object{"grace_seconds": 60}),

	"createConnection": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{body: h.shop.connection("secret")}
	}},
	"revokeConnection": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.connect(t, h.owner)}}
	}},

	"attachSource": {make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		return target{body: h.shop.people(t, h.connectionFor(t, c))}
	}},
	// No sheet is reachable here.
	"previewSheet": {answers: 422,
		make: func(*testing.T, *testWorkspace, *testCaller) target {
			return target{query: "?url=http://127.0.0.1/people.csv"}
		}},
	"previewWarehouse": {make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		return target{query: "?connection_id=" + h.connectionFor(t, c)}
	}},
	"mapSource": ofSource(object{"mapping": []object{{"field": "email", "column": "email"}}}),
	"detachSource": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.attach(t, h.owner)}}
	}},
	// Servers on PostgreSQL take no uploads.
	"createFile":     {answers: 409, make: plainly(object{"name": "people.csv", "size": 1}).make},
	"getFile":        withFile(nil),
	"deleteFile":     withFile(nil),
	"putFileContent": {answers: 409, make: withFile("x", asBytes).make},
	"getUsage": {make: func(*testing.T, *testWorkspace, *testCaller) target {
		return target{query: "?feature=messages"}
	}},
	"sendHeartbeat":  plainly(object{}),
	"getPresence":    withPresence(),
	"deletePresence": withPresence(),

	"createPromptTemplate": eachTime(plainly, func() any {
		return object{"name": fmt.Sprint("template ", people.Add(1))}
	}),
	"resolvePrompt": {answers: 404, make: func(t *testing.T, h *testWorkspace, _ *testCaller) target { // 404: elsewhere
		name, first := fmt.Sprint("named", people.Add(1)), object{"text": "Hello", "activate": true}
		h.owner.create(t, templates, object{"name": name, "visibility": "workspace", "version": first}, onRed)
		return target{query: "?name=" + name}
	}},
	"resolvePrompts":       plainly(object{"refs": []object{{"name": "none"}}}),
	"updatePromptTemplate": ofTemplate(object{"description": "new"}),
	"deletePromptTemplate": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.doomed(t)}}
	}},
	"renderPrompt": ofTemplate(object{}),
	"restorePromptTemplate": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id := h.doomed(t)
		h.author.do(t, "DELETE", templates+"/"+id, nil, onRed).is(t, 204)
		return target{ids: []string{id}}
	}},

	"createPromptVersion": ofTemplate(object{"text": "x"}),
	"getPromptVersion":    ofTemplate(nil, "v1"),
	"updatePromptVersion": ofTemplate(object{"commit_message": "moved"}, "v1"),
	"deletePromptVersion": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id := h.author.create(t, templates+"/"+h.template+"/versions", object{"text": "x"}, onRed).at("id")
		return target{ids: []string{h.template, id}}
	}},
	"activatePromptVersion": ofTemplate(nil, "v2"),
	"diffPromptVersions": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.template, "v2"}, query: "?against=v1"}
	}},

	"createPromptShare": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.template}, body: object{"user_id": h.program(t, "viewer").id, "role": "viewer"}}
	}},
	"getPromptShare": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		program := h.program(t, "viewer")
		h.author.create(t, templates+"/"+h.template+"/shares", object{"user_id": program.id, "role": "viewer"}, onRed)
		return target{ids: []string{h.template, program.id}}
	}},
	"updatePromptShare": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.template, h.viewer.id}, body: object{"expires_at": nil}}
	}},
	"deletePromptShare": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		program := h.program(t, "viewer")
		h.author.create(t, templates+"/"+h.template+"/shares", object{"user_id": program.id, "role": "viewer"}, onRed)
		return target{ids: []string{h.template, program.id}}
	}},

	"createChatTemplate": plainly(object{"name": "another"}),
	"updateChatTemplate": ofChat(object{"greeting": "new"}),
	"deleteChatTemplate": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.doomedChat(t)}}
	}},
	"restoreChatTemplate": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id := h.doomedChat(t)
		h.author.do(t, "DELETE", chats+"/"+id, nil, onRed).is(t, 204)
		return target{ids: []string{id}}
	}},
	"createChatMember": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.chat}, body: object{"user_id": h.program(t, "viewer").id, "role": "viewer"}}
	}},
	"getChatMember": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.chat, h.author.id}}
	}},
	"updateChatMember":   withChatMember(object{"role": "editor"}),
	"deleteChatMember":   withChatMember(nil),
	"attachChatWorkflow": ofChat(nil, "hand-over"),
	"getChatWorkflow":    withWorkflow,
	"detachChatWorkflow": withWorkflow,

	"createEmbedToken": {make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.doomedChat(t)}, body: object{"name": "Shop", "allowed_origins": []string{shop}}}
	}},
	"getEmbedToken":    withEmbed(nil),
	"updateEmbedToken": withEmbed(object{"enabled": false}),
	"deleteEmbedToken": withEmbed(nil),
	"rotateEmbedToken": withEmbed(object{"grace_seconds": 60}),

	"createEmbedSession": visiting(func(e *embeddedChat, _ string) target { return target{body: object{"token": e.secret}} }),
	"getEmbedTemplate": visiting(func(_ *embeddedChat, session string) target {
		return target{headers: []string{"Authorization: Bearer " + session}}
	}),
	"getEmbedPage": visiting(func(e *embeddedChat, _ string) target { return target{ids: []string{e.secret}} }),
}
