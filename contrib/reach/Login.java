// What `make reach` does in Java with a login that it cannot read.
import java.net.*;
import java.net.http.*;

class Login {
	public static void main(String[] args) throws Exception {
		var request = HttpRequest.newBuilder(URI.create("https://www.reach.test/login")).header("Authorization", "Bearer " + System.getenv("LAB_TOKEN")).build();
		System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
	}
}
