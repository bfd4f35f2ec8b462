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
	"POST /v1/customers/{id}":                         "invoice_settings name email address metadata tax",
	"GET /v1/customers/{id}/tax_ids":                  "limit starting_after",
	"POST /v1/customers/{id}/tax_ids":                 "type value",
	"DELETE /v1/customers/{id}/tax_ids/{tax}":         "",
	"GET /v1/customers/{id}/payment_methods":          "limit starting_after",
	"GET /v1/customers/{id}/payment_methods/{method}": "",
	"POST /v1/payment_methods/{id}/detach":            "",
	"POST /v1/setup_intents":                          "customer usage metadata automatic_payment_methods",
	"GET /v1/setup_intents":                           "customer limit starting_after",
	"POST /v1/setup_intents/{id}/cancel":              "",
	"GET /v1/payment_intents/{id}":                    "",
	"GET /v1/prices/{id}":                             "",
	"POST /v1/subscriptions/{id}/resume":              "billing_cycle_anchor",
	"POST /v1/subscriptions": "customer items payment_behavior metadata trial_period_days trial_settings discounts " +
		"automatic_tax expand",
	"GET /v1/subscriptions":      "customer status limit starting_after expand",
	"GET /v1/subscriptions/{id}": "expand",
	"POST /v1/subscriptions/{id}": "items payment_behavior proration_behavior proration_date " +
		"trial_end cancel_at_period_end cancel_at metadata discounts default_payment_method pause_collection billing_cycle_anchor " +
		"cancellation_details expand",
	"DELETE /v1/subscriptions/{id}":                "cancellation_details invoice_now",
	"POST /v1/subscription_schedules":              "from_subscription",
	"POST /v1/subscription_schedules/{id}":         "end_behavior proration_behavior metadata phases",
	"POST /v1/subscription_schedules/{id}/release": "",
	"GET /v1/billing/meters/{id}":                  "",
	"POST /v1/billing/meter_events":                "event_name identifier timestamp payload",
	"GET /v1/invoices":                             "customer status limit starting_after expand",
	"GET /v1/promotion_codes":                      "code active limit starting_after expand",
	"POST /v1/billing_portal/sessions":             "customer return_url",
	"POST /v1/checkout/sessions": "mode customer line_items success_url cancel_url subscription_data" +
		" automatic_tax customer_update",
	"GET /v1/checkout/sessions":              "customer status limit starting_after",
	"GET /v1/checkout/sessions/{id}":         "",
	"POST /v1/checkout/sessions/{id}/expire": "",
	"GET /v1/invoices/{id}":                  "expand",
	"POST /v1/invoices/{id}/void":            "",
	"POST /v1/invoices/create_preview": "customer subscription subscription_details discounts schedule " +
		"schedule_details",
	"POST /v1/invoices/{id}/finalize": "",
	"POST /v1/invoices/{id}/pay":      "off_session expand",
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	handlers := map[string]func(form, *http.Request) any{
		"POST /v1/customers":                              s.createCustomer,
		"GET /v1/customers":                               s.listCustomers,
		"GET /v1/customers/{id}":                          s.readCustomer,
		"POST /v1/customers/{id}":                         s.updateCustomer,
		"GET /v1/customers/{id}/tax_ids":                  s.listTaxIDs,
		"POST /v1/customers/{id}/tax_ids":                 s.createTaxID,
		"DELETE /v1/customers/{id}/tax_ids/{tax}":         s.deleteTaxID,
		"GET /v1/customers/{id}/payment_methods":          s.listMethods,
		"GET /v1/customers/{id}/payment_methods/{method}": s.readMethod,
		"POST /v1/payment_methods/{id}/detach":            s.detach,
		"POST /v1/setup_intents":                          s.createSetupIntent,
		"GET /v1/setup_intents":                           s.listSetupIntents,
		"POST /v1/setup_intents/{id}/cancel":              s.cancelSetupIntent,
		"GET /v1/payment_intents/{id}":                    s.readPaymentIntent,
		"GET /v1/prices/{id}":                             s.readPrice,
		"POST /v1/subscriptions":                          s.subscribe,
		"POST /v1/subscriptions/{id}/resume":              s.resume,
		"GET /v1/subscriptions":                           s.listSubscriptions,
		"GET /v1/subscriptions/{id}":                      s.readSubscription,
		"POST /v1/subscriptions/{id}":                     s.updateSubscription,
		"DELETE /v1/subscriptions/{id}":                   s.cancelSubscription,
		"POST /v1/subscription_schedules":                 s.createSchedule,
		"POST /v1/subscription_schedules/{id}":            s.updateSchedule,
		"POST /v1/subscription_schedules/{id}/release":    s.releaseSchedule,
		"POST /v1/billing_portal/sessions":                s.createPortal,
		"POST /v1/checkout/sessions":                      s.createCheckout,
		"GET /v1/checkout/sessions":                       s.listCheckouts,
		"GET /v1/checkout/sessions/{id}":                  s.readCheckout,
		"POST /v1/checkout/sessions/{id}/expire":          s.expireCheckout,
		"GET /v1/billing/meters/{id}":                     s.readMeter,
		"POST /v1/billing/meter_events":                   s.reportUsage,
		"GET /v1/invoices":                                s.listInvoices,
		"GET /v1/promotion_codes":                         s.listPromotions,
		"GET /v1/invoices/{id}":                           s.readInvoice,
		"POST /v1/invoices/{id}/void":                     s.voidInvoice,
		"POST /v1/invoices/create_preview":                s.previewInvoice,
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
