package e2e

func init() {
	resumed := visiting(func(_ *embed, session string) target {
		return target{headers: []string{"Authorization: Bearer " + session}}
	})
	examples["renewEmbedSession"] = resumed
}
