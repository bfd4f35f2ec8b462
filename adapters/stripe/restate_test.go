package stripe_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	stripego "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// full returns the JSON of an object of Stripe in which each field has a value, and objects are named by their ids. It
// notes the parameters that state all of it under names.
func full(object reflect.Type, name string, names map[string]string) map[string]any {
	out := map[string]any{}
	for n := range object.NumField() {
		f := object.Field(n)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" {
			continue
		}
		out[key] = fullValue(f.Type, name+"["+key+"]", names)
	}
	return out
}

func fullValue(t reflect.Type, name string, names map[string]string) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var value any
	switch t.Kind() {
	case reflect.Slice:
		return []any{fullValue(t.Elem(), name+"[0]", names)}
	case reflect.Map:
		names[name+"[k]"] = "v"
		return map[string]any{"k": "v"}
	case reflect.Struct:
		if _, isIdentified := t.FieldByName("ID"); !isIdentified {
			return full(t, name, names)
		}
		value = "id_of_" + t.Name()
	case reflect.Bool:
		value = true
	case reflect.Float64:
		value, names[name] = 12.5, "12.5000"
		return value
	case reflect.Int64:
		value = 150
	default:
		value = "text"
	}
	names[name] = fmt.Sprint(value)
	return value
}

// restatedPhases returns the parameters of the schedule after a change of a subscription with the given phases, whose
// period is from 100 to 200.
func restatedPhases(t *testing.T, a payment.Amendment, phases ...map[string]any) url.Values {
	t.Helper()
	messages := url.Values{}
	text, err := json.Marshal(phases)
	require.NoError(t, err)
	subscription := fmt.Sprintf(`{"id":"sub_1","object":"subscription","status":"active","customer":"cus_1","created":1,
		"metadata":{"atrium_plan":"team"},"items":{"object":"list","data":[{"id":"si_1","quantity":2,
		"billing_thresholds":{"usage_gte":9},"current_period_start":100,"current_period_end":200,
		"price":{"id":"price_1"}}]},"default_payment_method":"pm_now",
		"schedule":{"id":"sub_sched_1","object":"subscription_schedule","status":"active","end_behavior":"release",
		"current_phase":{"start_date":%v,"end_date":%v},"phases":%s}}`, phases[0]["start_date"], phases[0]["end_date"], text)
	s := serve(t, func(call string, w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(call, "POST /v1/subscription_schedules/") {
			assert.NoError(t, r.ParseForm())
			messages = r.PostForm
		}
		reply(w, 200, subscription)
	})
	_, err = s.gateway().Amend(t.Context(), "k", "cus_1", "sub_1", a)
	require.NoError(t, err)
	return messages
}

var (
	more      = payment.Amendment{Quantity: 3, Resell: true}
	fewer     = payment.Amendment{Quantity: 1, Resell: true, AtRenewal: true}
	onlyPrice = []any{map[string]any{"price": "price_1", "quantity": 2}}
)

// TestAChangeRestatesAllTermsOfALaterPhase fails if the library has a term of phases that is not restated.
func TestAChangeRestatesAllTermsOfALaterPhase(t *testing.T) {
	names := map[string]string{}
	laterValues := full(reflect.TypeFor[stripego.SubscriptionSchedulePhase](), "phases[1]", names)
	laterValues["start_date"], laterValues["end_date"], laterValues["trial_end"] = 200, 300, 250
	item := laterValues["items"].([]any)[0].(map[string]any)
	item["price"], item["quantity"] = "price_1", 2
	for name, value := range map[string]string{
		"[start_date]": "200", "[end_date]": "300", "[trial_end]": "250", "[items][0][price]": "price_1",
		"[items][0][quantity]": "3",
	} {
		names["phases[1]"+name] = value
	}
	for _, name := range []string{ // what Stripe decides, another name of the price, and further names of discounts
		"[automatic_tax][disabled_reason]", "[items][0][plan]",
		"[discounts][0][coupon]", "[discounts][0][promotion_code]",
		"[items][0][discounts][0][coupon]", "[items][0][discounts][0][promotion_code]",
		"[add_invoice_items][0][discounts][0][coupon]", "[add_invoice_items][0][discounts][0][promotion_code]",
	} {
		_, exists := names["phases[1]"+name]
		assert.That(t, exists, "Stripe has no %s any more", name)
		delete(names, "phases[1]"+name)
	}
	sent := restatedPhases(t, more, map[string]any{"start_date": 100, "end_date": 200, "items": onlyPrice}, laterValues)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got := sent.Get(name); got != names[name] {
			t.Errorf("%s is %q, want %q", name, got, names[name])
		}
	}
	for name := range sent {
		if _, exists := names[name]; strings.HasPrefix(name, "phases[1]") && !exists {
			t.Errorf("%s is sent, which the phase does not have", name)
		}
	}
	assert.Equal(t, "the threshold of the subscription's item",
		sent.Get("phases[0][items][0][billing_thresholds][usage_gte]"), "9")
}

func TestWhatHappensWhenAPhaseBeginsHappensOnce(t *testing.T) {
	phase := func(start, end, trialEnd int) map[string]any {
		return map[string]any{
			"start_date": start, "end_date": end, "trial_end": trialEnd, "items": onlyPrice,
			"billing_cycle_anchor": "phase_start", "default_payment_method": "pm_before",
			"add_invoice_items": []any{map[string]any{"price": "price_setup", "quantity": 1}},
		}
	}
	const charge, anchor, trialEnd, trial = "[add_invoice_items][0][price]", "[billing_cycle_anchor]", "[trial_end]",
		"[trial]"
	for name, tt := range map[string]struct {
		change payment.Amendment
		phases []map[string]any
		want   []map[string]string // by phase; what is not named is not sent
	}{
		"of a phase that is divided": {fewer, []map[string]any{phase(100, 400, 0), phase(400, 500, 0)}, []map[string]string{
			{anchor: "phase_start"}, {},
		}},
		"of the phase that another one follows": {fewer, []map[string]any{phase(50, 200, 150)}, []map[string]string{
			{anchor: "phase_start", trialEnd: "150"}, {},
		}},
		"with a trial that ends in the first part": {
			fewer, []map[string]any{phase(100, 400, 150), phase(400, 500, 0)},
			[]map[string]string{{anchor: "phase_start", trialEnd: "150"}, {}},
		},
		"with a trial that ends in the second part": {
			fewer, []map[string]any{phase(100, 400, 250), phase(400, 500, 0)},
			[]map[string]string{{anchor: "phase_start", trial: "true"}, {trialEnd: "250"}},
		},
		"with a trial of the whole phase": {
			fewer, []map[string]any{phase(100, 400, 400), phase(400, 500, 0)},
			[]map[string]string{{anchor: "phase_start", trial: "true"}, {trial: "true"}},
		},
		"of a later phase": {more, []map[string]any{phase(100, 200, 0), phase(200, 300, 300)}, []map[string]string{
			{anchor: "phase_start"}, {anchor: "phase_start", charge: "price_setup", trial: "true"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			messages := restatedPhases(t, tt.change, tt.phases...)
			for n, want := range tt.want {
				for _, term := range []string{charge, anchor, trialEnd, trial} {
					if got := messages.Get(fmt.Sprintf("phases[%d]%s", n, term)); got != want[term] {
						t.Errorf("phase %d: %s is %q, want %q", n, term, got, want[term])
					}
				}
			}
			assert.Equal(t, "the method of the subscription", messages.Get("phases[0][default_payment_method]"),
				"pm_now")
		})
	}
}
