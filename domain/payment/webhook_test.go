package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSignatures(t *testing.T) {
	body := []byte(`{"id": "evt_1"}`)
	old, key := secret.New("whsec_old"), secret.New("whsec_new")
	good := payment.Sign(key, body, now)
	for name, tt := range map[string]struct {
		keys   []secret.String
		header string
		body   string
		at     time.Time
		want   error
	}{
		"of the key":                   {[]secret.String{key}, good, string(body), now, nil},
		"of any active key":            {[]secret.String{old, key}, good, string(body), now, nil},
		"with others beside it":        {[]secret.String{key}, good + ",v0=00,v1=ff", string(body), now, nil},
		"of another key":               {[]secret.String{old}, good, string(body), now, payment.ErrSignature},
		"where there is no key":        {nil, good, string(body), now, payment.ErrSignature},
		"of the empty key":             {[]secret.String{{}}, payment.Sign(secret.String{}, body, now), string(body), now, payment.ErrSignature},
		"of another body":              {[]secret.String{key}, good, string(body) + " ", now, payment.ErrSignature},
		"of 300 seconds ago":           {[]secret.String{key}, good, string(body), now.Add(300 * time.Second), nil},
		"older than that":              {[]secret.String{key}, good, string(body), now.Add(301 * time.Second), payment.ErrSignature},
		"from the future":              {[]secret.String{key}, good, string(body), now.Add(-302 * time.Second), payment.ErrSignature},
		"none":                         {[]secret.String{key}, "", string(body), now, payment.ErrSignature},
		"of another time":              {[]secret.String{key}, strings.Replace(good, "t=1", "t=2", 1), string(body), now, payment.ErrSignature},
		"without a time":               {[]secret.String{key}, good[strings.Index(good, ",")+1:], string(body), now, payment.ErrSignature},
		"cut off":                      {[]secret.String{key}, good[:len(good)-2], string(body), now, payment.ErrSignature},
		"of an older scheme alone":     {[]secret.String{key}, strings.Replace(good, "v1=", "v0=", 1), string(body), now, payment.ErrSignature},
		"more than anybody would make": {[]secret.String{key}, good + strings.Repeat(",v1=ff", 16), string(body), now, payment.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, payment.CheckSignature(tt.keys, tt.header, []byte(tt.body), tt.at), tt.want)
		})
	}
}

func TestEnvelopesOfEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want string // the customer, or what it is about
		err  error
	}{
		"a customer itself": {
			`{"id":"evt_1","object":"event","type":"customer.updated","data":{"object":{"id":"cus_1","object":"customer"}}}`, "cus_1", nil},
		"what belongs to one": {
			`{"id":"evt_1","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1","object":"invoice","customer":"cus_1"}}}`, "cus_1", nil},
		"with the customer written out": {
			`{"id":"evt_1","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1","object":"invoice","customer":{"id":"cus_1"}}}}`, "cus_1", nil},
		"a thin event, which is about no customer": {
			`{"id":"evt_1","object":"v2.core.event",` +
				`"type":"v1.billing.meter.error_report_triggered","livemode":false,"created":"2024-09-17T06:20:52.246Z",` +
				`"related_object":{"id":"mtr_test_61R9IeP0SgKbYROOx41PEAQhH0qO23oW","type":"billing.meter",` +
				`"url":"/v1/billing/meters/mtr_test_61R9IeP0SgKbYROOx41PEAQhH0qO23oW"}}`,
			"billing.meter mtr_test_61R9IeP0SgKbYROOx41PEAQhH0qO23oW", nil},
		"a thin event without an object": {`{"id":"evt_1","object":"v2.core.event","type":"v2.core.event_destination.ping",` +
			`"context":null,"created":"2025-01-01T00:00:00.000Z","related_object":null}`, "", nil},
		"a thin event about what belongs to one": {`{"id":"evt_1","object":"v2.core.event","type":"v1.invoice.paid",` +
			`"created":"2026-10-01T00:00:00.000Z","related_object":{"id":"in_1","type":"invoice","url":"/v1/invoices/in_1"}}`,
			"invoice in_1", nil},
		"a refund": {`{"id":"evt_1","object":"event","type":"refund.created","data":{"object":{"id":"re_1","object":"refund",` +
			`"charge":"ch_1"}}}`, "charge ch_1", nil},
		"a thin event about a customer": {`{"id":"evt_1","object":"v2.core.event","type":"v1.customer.updated",` +
			`"created":"2025-01-01T00:00:00.000Z","related_object":{"id":"cus_1","type":"customer","url":"/v1/customers/x"}}`,
			"cus_1", nil},
		"a thin event of no time": {`{"id":"evt_1","object":"v2.core.event","type":"x","created":"soon"}`, "",
			payment.ErrEventMalformed},
		"what belonged to one": {
			`{"id":"evt_1","object":"event","type":"payment_method.detached","data":{"object":{"object":"payment_method","customer":null},"previous_attributes":{"customer":"cus_1"}}}`, "cus_1", nil},
		"an event without a customer": {
			`{"id":"evt_1","object":"event","type":"plan.created","data":{"object":{"object":"plan"}}}`, "", nil},
		"of an unknown version": {
			`{"id":"evt_1","object":"event","api_version":"2099-01-01.x","type":"new.thing","data":{"object":{"customer":7}},"more":{}}`, "", nil},
		"no event": {`{"id":"cus_1","object":"customer","type":"x"}`, "", payment.ErrEventMalformed},
		"nothing":  {``, "", payment.ErrEventMalformed},
		"an id that is too long to keep": {`{"id":"` + strings.Repeat("e", 256) + `","object":"event","type":"x"}`, "",
			payment.ErrEventMalformed},
		"what is cut off": {`{"id":"evt_1","object":"event"`, "", payment.ErrEventMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := payment.ParseEvent([]byte(tt.body))
			require.ErrorIs(t, err, tt.err)
			if err == nil {
				got := strings.TrimSpace(string(e.Customer) + e.About.Kind + " " + e.About.ID)
				assert.That(t, got == tt.want && e.ID == "evt_1", "%+v", e)
			}
		})
	}
}

func TestOutcomeUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"success":              {nil, false},
		"a declined card":      {&payment.DeclinedError{DeclineCode: "x"}, false},
		"a refusal":            {&payment.Rejection{Reason: "x"}, false},
		"a missing method":     {payment.ErrMethodNotFound, false},
		"an answer in no form": {payment.ErrGateway, true},
		"an outage":            {payment.ErrGatewayUnavailable.WithRetryAfter(time.Second), true},
		"a timeout":            {payment.ErrGatewayTimeout, true},
		"an outage of our own": {&fault.Error{Kind: fault.Unavailable, Code: "unavailable"}, true},
		"an unexpected error":  {t.Context().Err(), false},
	} {
		got := payment.OutcomeUnknown(tt.err)
		assert.That(t, got == tt.want, "%s: %v", name, got)
	}
}
