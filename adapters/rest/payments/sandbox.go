package payments

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

func sandboxIntent(r *server.Call, clientSecret string) payment.SetupIntent {
	return payment.SetupIntent{
		ID:           payment.IntentID(server.PathVar(r.Request, "intent_id")),
		ClientSecret: secret.New(clientSecret),
	}
}

// confirmSandboxIntent does what Stripe's form does in the payer's browser. The card is held as a secret from
// here on, and goes only to the sandbox.
func confirmSandboxIntent(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SandboxConfirm](r)
	if err != nil {
		return nil, err
	}
	card := payment.Card{
		Number:   secret.New(in.Card.Number),
		CVC:      secret.New(in.Card.Cvc),
		ExpMonth: in.Card.ExpMonth,
		ExpYear:  in.Card.ExpYear,
	}
	i, err := r.Payments.ConfirmIntent(r.Context(), r.By, sandboxIntent(r, in.ClientSecret), card)
	if err != nil {
		return nil, err
	}
	return server.Respond(intentReply(i)), nil
}

func authenticateSandboxIntent(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SandboxAuthenticate](r)
	if err != nil {
		return nil, err
	}
	i, err := r.Payments.AuthenticateIntent(r.Context(), r.By, sandboxIntent(r, in.ClientSecret), in.Success)
	if err != nil {
		return nil, err
	}
	return server.Respond(intentReply(i)), nil
}

func getSandboxClock(r *server.Call) (server.Reply, error) {
	now, err := r.Payments.Clock(r.Context(), r.By)
	return server.OK(openapi.SandboxClock{Now: openapi.Time(now)}), err
}

func advanceSandboxClock(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SandboxClockAdvance](r)
	if err != nil {
		return nil, err
	}
	now, err := r.Payments.AdvanceClock(r.Context(), r.By, payment.ClockAdvance{
		By: time.Duration(in.AdvanceSeconds) * time.Second, To: time.Time(in.To),
	})
	if err != nil {
		return nil, err
	}
	return server.Respond(server.OK(openapi.SandboxClock{Now: openapi.Time(now)})), nil
}
