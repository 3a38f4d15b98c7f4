// The API reference, from the schema this server publishes. A token kept by the dashboard is sent along.
const token = sessionStorage.getItem("corral.token");
window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  requestInterceptor: (request) => {
    if (token && new URL(request.url, location.href).origin === location.origin) {
      request.headers.Authorization = `Bearer ${token}`;
    }
    return request;
  },
});
