// What `make reach` does in Java: HttpClient, the older URL, and a socket.
import java.io.*;
import java.net.*;
import java.net.http.*;

class Client {
	public static void main(String[] args) throws Exception {
		var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("https://www.reach.test/here")).build(), HttpResponse.BodyHandlers.ofString());
		System.out.print("HttpClient: " + answer.body());
		try (var in = new URL("https://www.reach.test/here").openStream()) {
			System.out.print("URL: " + new String(in.readAllBytes()));
		}
		try (var s = new Socket("raw.reach.test", 7000)) {
			System.out.println("Socket: " + new BufferedReader(new InputStreamReader(s.getInputStream())).readLine());
		}
	}
}
