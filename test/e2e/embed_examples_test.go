package e2e

import "testing"

func init() {
	resumed := visiting(func(_ *embed, session string) target {
		return target{headers: []string{"Authorization: Bearer " + session}}
	})
	examples["renewEmbedSession"] = resumed
	examples["verifyEmbedSession"] = example{make: func(t *testing.T, h *house, _ *standing) target {
		return target{body: object{"session": h.embed.visit(t, fromShop, onRed).is(t, 200).at("session")}}
	}}
}
