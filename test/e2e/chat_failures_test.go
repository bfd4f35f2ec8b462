package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestOwnersSeeThatRepliesFail(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin, viewer := s.user(t, "admin"), s.user(t, "viewer")
		var status atomic.Int64
		status.Store(http.StatusUnauthorized)
		bot := newReplies(t, func(w http.ResponseWriter, _ *http.Request) {
			if code := int(status.Load()); code != http.StatusOK {
				http.Error(w, "inner-failure", code)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"text":"Yes."}`))
		})
		e := admin.replying(t, bot, nil)
		chat := strings.TrimPrefix(e.template, chats+"/")
		connection := connections + "/" + admin.get(t, e.template).at("reply.connection_id")
		session := e.visit(t, fromShop).at("session")
		health := func(want string) *answer {
			t.Helper()
			return proof.Await(t, "the chat is "+want, func() *answer { return admin.get(t, e.template) },
				func(a *answer) bool { return a.at("health") == want })
		}
		ask := func() *answer { return e.says(t, session, object{"text": "?"}, fromShop).is(t, 200) }

		t.Run("after five failed replies the chat is degraded, and says why", func(t *testing.T) {
			for range 4 {
				ask()
			}
			today := time.Now().UTC().Format(time.DateOnly)
			proof.Await(t, "four failures are counted", func() *answer { return admin.get(t, e.path+"/usage") },
				func(a *answer) bool { return a.at("failures") == "4" }).has(t, map[string]string{"messages": "4",
				"failures_by_code.0.code": "auth_failed", "failures_by_code.0.failures": "4",
				"failures_by_code.0.date": today, "failures_by_code.1": ""})
			admin.get(t, e.template).has(t, map[string]string{"health": "ok"})
			ask()
			health("degraded").has(t, map[string]string{"issues.0.code": "replies_failing",
				"issues.0.pointer": "/reply", "issues.0.detail": "The latest replies to visitors failed (auth_failed)."})
			admin.get(t, chats).has(t, map[string]string{"data.0.health": "degraded"})
			admin.get(t, e.template+"/runtime").has(t, map[string]string{"issues.0.code": "replies_failing"})
			admin.get(t, "/api/events?type=chat_template.replies_failing").has(t, map[string]string{
				"data.0.subject": chat, "data.0.data.code": "auth_failed", "data.0.data.failures": "5",
				"data.0.data.connection_id": strings.TrimPrefix(connection, connections+"/"), "data.1": ""})
		})
		t.Run("one reply that succeeds ends it", func(t *testing.T) {
			status.Store(http.StatusOK)
			assert.Contains(t, "the answer", ask().text, "event: done")
			health("ok")
			admin.get(t, "/api/events?type=chat_template.replies_recovered").has(t, map[string]string{
				"data.0.subject": chat, "data.0.data.code": "auth_failed", "data.1": ""})
		})
		t.Run("a connection names the chats that reply through it, to who may read them", func(t *testing.T) {
			named := map[string]string{"chat_templates.0.id": chat, "chat_templates.0.name": "Support",
				"chat_templates.1": ""}
			admin.get(t, connection).has(t, named)
			list := admin.get(t, connections)
			list.has(t, map[string]string{"data.0.chat_templates.0.id": chat})
			viewer.get(t, connection).has(t, map[string]string{"chat_templates": "[]"})
			program := *admin
			program.token = admin.create(t, "/api/api-keys", object{"name": "reader",
				"scopes": []string{"connections:read"}}).at("token")
			program.get(t, connection).has(t, map[string]string{"chat_templates": "[]"})
		})
		t.Run("revoking it tells which chats reply no more", func(t *testing.T) {
			admin.do(t, "DELETE", connection, nil).is(t, 200).has(t, map[string]string{
				"connection.chat_templates.0.id": chat})
			admin.get(t, e.template).has(t, map[string]string{"health": "degraded",
				"issues.0.code": "replies_failing"})
			admin.get(t, "/api/events?type=chat_template.replies_failing").has(t, map[string]string{
				"data.0.data.code": "connection_revoked", "data.0.actor": admin.id})
		})
	})
}
