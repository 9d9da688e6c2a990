/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_api.h - /v1: the APIs of model providers, as a row of the server's services.
 */
#ifndef TH_MODEL_API_MODEL_API_H
#define TH_MODEL_API_MODEL_API_H

struct th_service;

extern const struct th_service th_service_models;

#endif
