// Package webhooks serves the endpoints of webhooks, and their deliveries.
package webhooks

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Area returns the area of webhooks.
func Area() server.Area {
	return server.Area{Name: "webhooks", Operations: endpointOperations()}
}

func endpointOperations() []server.Operation {
	const path = "/api/webhooks/{webhook_id}"
	return []server.Operation{
		server.Get("/api/webhooks", server.Query(listWebhooks)),
		server.Post("/api/webhooks", server.Command(createWebhook)),
		server.Get(path, server.Query(getWebhook)),
		server.Patch(path, server.Command(updateWebhook)),
		server.Delete(path, server.Command(deleteWebhook)),
		server.Post(path+"/confirm", server.Command(confirmWebhook)),
		server.Post(path+"/rotate", server.Command(rotateWebhook)),
		server.Post(path+"/test", server.Outbound(testWebhook)),
		server.Post(path+"/replay", server.Command(replayWebhook)),
		server.Get(path+"/deliveries", server.Query(listWebhookDeliveries)),
		server.Post(path+"/deliveries/{delivery_id}/retry", server.Command(retryWebhookDelivery)),
	}
}
