// What `make reach` does in node: fetch, net, c-ares, and from version 22 on a WebSocket.
import dns from "node:dns/promises";
import net from "node:net";

const text = await (await fetch("https://www.reach.test/here")).text();
console.log("fetch:", text.trim());
const said = await new Promise((done, fail) => {
	const s = net.connect({ host: "raw.reach.test", port: 7000 });
	s.on("error", fail);
	s.once("data", (data) => {
		s.destroy();
		done(data.toString());
	});
});
console.log("net:", said.trim());
console.log("resolve4:", (await dns.resolve4("www.reach.test")).length);
if (globalThis.WebSocket) {
	const echo = await new Promise((done, fail) => {
		const s = new WebSocket("wss://www.reach.test/socket");
		s.onopen = () => s.send("echo");
		s.onerror = fail;
		s.onmessage = (m) => done(m.data);
	});
	console.log("WebSocket:", echo);
}
process.exit(0);
