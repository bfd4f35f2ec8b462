package stripeapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parameters are the parameters that each call accepts, by the first part of their name.
var parameters = map[string]string{
	"POST /v1/customers":                              "name email metadata",
	"GET /v1/customers":                               "email created limit starting_after",
	"GET /v1/customers/{id}":                          "",
	"POST /v1/customers/{id}":                         "invoice_settings",
	"GET /v1/customers/{id}/payment_methods":          "limit starting_after",
	"GET /v1/customers/{id}/payment_methods/{method}": "",
	"POST /v1/payment_methods/{id}/detach":            "",
	"POST /v1/setup_intents":                          "customer usage metadata automatic_payment_methods",
	"GET /v1/setup_intents":                           "customer limit starting_after",
	"POST /v1/setup_intents/{id}/cancel":              "",
	"GET /v1/payment_intents/{id}":                    "",
	"GET /v1/prices/{id}":                             "",
	"POST /v1/subscriptions":                          "customer items payment_behavior metadata trial_period_days expand",
	"GET /v1/subscriptions":                           "customer status limit starting_after expand",
	"GET /v1/subscriptions/{id}":                      "expand",
	"POST /v1/subscriptions/{id}":                     "items payment_behavior proration_behavior cancel_at_period_end metadata expand",
	"DELETE /v1/subscriptions/{id}":                   "",
	"POST /v1/subscription_schedules":                 "from_subscription",
	"POST /v1/subscription_schedules/{id}":            "end_behavior proration_behavior metadata phases",
	"POST /v1/subscription_schedules/{id}/release":    "",
	"GET /v1/invoices":                                "customer limit starting_after",
	"GET /v1/invoices/{id}":                           "expand",
	"POST /v1/invoices/{id}/void":                     "",
	"POST /v1/invoices/{id}/finalize":                 "",
	"POST /v1/invoices/{id}/pay":                      "off_session expand",
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	handlers := map[string]func(form, *http.Request) any{
		"POST /v1/customers":                              s.createCustomer,
		"GET /v1/customers":                               s.listCustomers,
		"GET /v1/customers/{id}":                          s.readCustomer,
		"POST /v1/customers/{id}":                         s.updateCustomer,
		"GET /v1/customers/{id}/payment_methods":          s.listMethods,
		"GET /v1/customers/{id}/payment_methods/{method}": s.readMethod,
		"POST /v1/payment_methods/{id}/detach":            s.detach,
		"POST /v1/setup_intents":                          s.createSetupIntent,
		"GET /v1/setup_intents":                           s.listSetupIntents,
		"POST /v1/setup_intents/{id}/cancel":              s.cancelSetupIntent,
		"GET /v1/payment_intents/{id}":                    s.readPaymentIntent,
		"GET /v1/prices/{id}":                             s.readPrice,
		"POST /v1/subscriptions":                          s.subscribe,
		"GET /v1/subscriptions":                           s.listSubscriptions,
		"GET /v1/subscriptions/{id}":                      s.readSubscription,
		"POST /v1/subscriptions/{id}":                     s.updateSubscription,
		"DELETE /v1/subscriptions/{id}":                   s.cancelSubscription,
		"POST /v1/subscription_schedules":                 s.createSchedule,
		"POST /v1/subscription_schedules/{id}":            s.updateSchedule,
		"POST /v1/subscription_schedules/{id}/release":    s.releaseSchedule,
		"GET /v1/invoices":                                s.listInvoices,
		"GET /v1/invoices/{id}":                           s.readInvoice,
		"POST /v1/invoices/{id}/void":                     s.voidInvoice,
		"POST /v1/invoices/{id}/finalize":                 s.finalizeInvoice,
		"POST /v1/invoices/{id}/pay":                      s.payInvoice,
	}
	for pattern, handle := range handlers {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.(*result).out = handle(form{r.Form}, r)
		})
	}
}

// form are the parameters of a call.
type form struct{ url.Values }

func (f form) number(name string) int64 {
	n, _ := strconv.ParseInt(f.Get(name), 10, 64)
	return n
}

// under returns the parameters of the form prefix[name].
func (f form) under(prefix string) map[string]string {
	out := map[string]string{}
	for name, values := range f.Values {
		if inner, is := strings.CutPrefix(name, prefix+"["); is {
			out[strings.TrimSuffix(inner, "]")] = values[0]
		}
	}
	return out
}

// expanded returns the fields to expand, without the prefix that lists have.
func (f form) expanded() []string {
	var all []string
	for name, values := range f.Values {
		if strings.HasPrefix(name, "expand[") {
			for _, v := range values {
				all = append(all, strings.TrimPrefix(v, "data."))
			}
		}
	}
	return all
}

// list returns a page of objects, which must be in order.
func list[T any](f form, path string, all []T, show func(T) map[string]any) any {
	limit := int(cmp.Or(f.number("limit"), 10))
	after := f.Get("starting_after")
	page := []map[string]any{}
	more := false
	for _, one := range all {
		shown := show(one)
		switch {
		case after != "":
			if shown["id"] == after {
				after = ""
			}
		case len(page) == limit:
			more = true
		default:
			page = append(page, shown)
		}
	}
	return map[string]any{"object": "list", "url": path, "has_more": more, "data": page}
}

// newest returns the matching objects, newest first, from a slice in order of creation.
func newest[T any](all []T, wanted func(T) bool) []T {
	out := []T{}
	for _, one := range slices.Backward(all) {
		if wanted(one) {
			out = append(out, one)
		}
	}
	return out
}
