package e2e

import "testing"

func init() {
	resumedExample := visiting(func(_ *embeddedChat, session string) target {
		return target{headers: []string{"Authorization: Bearer " + session}}
	})
	examples["renewEmbedSession"] = resumedExample
	rating := visiting(func(_ *embeddedChat, session string) target {
		return target{body: object{"answer": "atr_x", "helpful": true},
			headers: []string{"Authorization: Bearer " + session}}
	})
	rating.answers = 404 // the answer is none of ours
	examples["rateEmbedAnswer"] = rating
	examples["sendEmbedMessage"] = example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		if h.replying == nil {
			h.replying = h.owner.replying(t, newReplies(t, nil), nil, onRed)
			h.replySession = h.replying.visit(t, fromShop, onRed).is(t, 200).at("session")
		}
		return target{body: object{"text": "Where?"},
			headers: []string{"Authorization: Bearer " + h.replySession, fromShop}}
	}}
	examples["verifyEmbedSession"] = example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{body: object{"session": h.embed.visit(t, fromShop, onRed).is(t, 200).at("session")}}
	}}
}
