// Show the API reference from the schema of this server. Requests carry the token of the dashboard.
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
