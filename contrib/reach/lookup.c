// lookup NAME PORT [4]: getaddrinfo with each family, or with IPv4 and none, and a connection to what it says. Built with glibc, and statically with musl.
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int families[] = {AF_UNSPEC, AF_INET, AF_INET6}, failed = argc < 3;
	for (int i = 0; i < 3 && !failed; i++) {
		struct addrinfo hints, *found;
		memset(&hints, 0, sizeof hints);
		hints.ai_family = families[i];
		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = AI_ADDRCONFIG;
		int code = getaddrinfo(argv[1], argv[2], &hints, &found);
		if (code != 0) {
			printf("family %d: %s\n", families[i], gai_strerror(code));
			failed = 1;
			continue;
		}
		int s = socket(found->ai_family, SOCK_STREAM, 0);
		if (connect(s, found->ai_addr, found->ai_addrlen) != 0) {
			perror("connect");
			failed = 1;
		}
		close(s);
		freeaddrinfo(found);
	}
	if (!failed)
		puts("reached by each family");
	return failed;
}
